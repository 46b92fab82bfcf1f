// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOEmbedded
import OutriderHTTP
import Testing

@testable import OutriderTransport

/// One attempt, from the pool to the last byte, on connections that do what the test says.
struct AttemptRunnerTests {
    private let stage = AttemptStage()

    @Test func `a response is handed over with its head, then piece by piece`() throws {
        let (runner, outcome) = stage.start()
        let stream = try #require(stage.line.streams.first)
        #expect(runner.stage == .sending && stream.isSent && outcome.head == nil)
        stream.user.received(100)
        stream.user.responded(.ok(length: 5), .length(5), stopSending: false)
        #expect(outcome.head?.status == 200 && runner.stage == .receiving)
        #expect(runner.poll(outcome.took) == nil)
        stream.user.bodyCame(ByteBuffer(string: "hel"))
        #expect(outcome.text == "hel")
        stream.user.bodyCame(ByteBuffer(string: "lo"))
        stream.user.completed(trailers: [])
        #expect(runner.stage == .done)
        let rest = runner.poll(outcome.took)
        outcome.took(try #require(rest))
        outcome.took(try #require(runner.poll(outcome.took)))
        #expect(outcome.text == "hello" && outcome.isOver && !stream.isCancelled)
    }

    @Test func `a connection that was used before and dies is replaced once, unseen`() throws {
        let (runner, outcome) = stage.start()
        try #require(stage.line.streams.first).user.ended(.beforeResponse(replayable: true), nil)
        #expect(outcome.failure == nil && runner.stage == .queued)
        stage.lendSpare()
        let second = try #require(stage.spare.streams.first)
        second.user.ended(.beforeResponse(replayable: true), nil)
        #expect(outcome.failure?.kind == .connectionLost && outcome.count == 1)
    }

    @Test func `a request that is not idempotent is not replayed`() throws {
        let (_, outcome) = stage.start(.local(1, method: "POST", body: .bytes([1, 2, 3])))
        try #require(stage.line.streams.first).user.ended(.beforeResponse(replayable: true), nil)
        stage.lendSpare()
        #expect(outcome.failure?.kind == .connectionLost && stage.spare.streams.isEmpty)
        #expect(outcome.failure?.sent == .maybeSent)
    }

    @Test func `a request that the server has not looked at goes to another connection, whatever its method`() throws {
        let (runner, outcome) = stage.start(.local(1, method: "POST", body: .bytes([1, 2, 3])))
        try #require(stage.line.streams.first).user.ended(.unprocessed, nil)
        stage.lendSpare()
        #expect(runner.stage == .sending && stage.spare.streams.count == 1 && outcome.failure == nil)
    }

    @Test func `a connection that is dead when it is lent costs nothing`() throws {
        stage.line.isDead = true
        let (runner, outcome) = stage.start()
        #expect(runner.stage == .queued)
        stage.lendSpare()
        #expect(runner.stage == .sending && outcome.failure == nil && stage.spare.streams.count == 1)
    }

    @Test(arguments: ["GET", "POST"])
    func `a connection that dies of the first bytes is left behind`(method: String) throws {
        stage.line.diesOfWriting = true
        let (runner, outcome) = stage.start(.local(1, method: method))
        guard method == "GET" else {
            #expect(outcome.failure?.sent == .maybeSent && outcome.count == 1 && runner.stage == .done)
            return
        }
        #expect(runner.stage == .queued)
        stage.lendSpare()
        let stream = try #require(stage.spare.streams.first)
        stream.user.responded(.ok(length: 5), .length(5), stopSending: false)
        runner.cancel()
        #expect(stream.isCancelled && stage.line.streams.first?.isCancelled == false)
    }

    @Test(arguments: [true, false])
    func `cancelling ends the stream, and completes once`(_ hasHead: Bool) throws {
        let (runner, outcome) = stage.start()
        let stream = try #require(stage.line.streams.first)
        if hasHead { stream.user.responded(.ok(length: 5), .length(5), stopSending: false) }
        runner.cancel()
        runner.cancel()
        #expect(stream.isCancelled && runner.stage == .done)
        #expect(hasHead ? outcome.head != nil : outcome.failure?.kind == .explicitlyCancelled)
        if hasHead {
            guard case .failure(let failure)? = runner.tryNext() else {
                Issue.record("the body goes on")
                return
            }
            #expect(failure.kind == .explicitlyCancelled)
        }
        // what still comes is not told
        stream.user.ended(.inBody, nil)
        stream.user.completed(trailers: [])
        #expect(outcome.count == 1)
    }

    @Test func `an attempt that is cancelled before it begins asks for no connection`() {
        let runner = stage.make(.local(1))
        runner.cancel()
        let outcome = Outcome()
        runner.start(outcome.completed)
        #expect(outcome.failure?.kind == .explicitlyCancelled && stage.line.streams.isEmpty)
    }

    @Test func `a body that breaks off fails, with what came before it`() throws {
        let (runner, outcome) = stage.start()
        let stream = try #require(stage.line.streams.first)
        stream.user.responded(.ok(length: 5), .length(5), stopSending: false)
        stream.user.bodyCame(ByteBuffer(string: "hel"))
        stream.user.ended(.inBody, nil)
        outcome.took(try #require(runner.poll(outcome.took)))
        #expect(outcome.text == "hel")
        outcome.took(try #require(runner.poll(outcome.took)))
        #expect(outcome.failure?.sent == .sent && outcome.failure != nil)
    }

    @Test func `a reader that takes nothing lets no more be read`() throws {
        let (runner, outcome) = stage.start()
        let stream = try #require(stage.line.streams.first)
        stream.user.responded(.ok(length: 1 << 20), .length(1 << 20), stopSending: false)
        #expect(stream.user.wantsMore())
        stream.user.bodyCame(ByteBuffer(repeating: 1, count: BodyQueue.roomBytes))
        #expect(!stream.user.wantsMore() && stream.consumed == 0)
        outcome.took(try #require(runner.poll(outcome.took)))
        #expect(stream.user.wantsMore() && stream.consumed == BodyQueue.roomBytes)
    }

    @Test func `a piece that waits keeps nothing but its bytes`() throws {
        var queue = BodyQueue(host: "a", mostBytes: nil)
        let read = ByteBuffer(repeating: 1, count: 128 << 10)
        let piece = try #require(read.getSlice(at: 0, length: 16 << 10))
        var held: [ByteBuffer] = []
        for _ in 0..<8 { queue.append(piece) }
        while case .piece(let piece) = queue.next() { held.append(piece) }
        let own = held.map { $0.withUnsafeReadableBytes { $0.baseAddress } }
        let shared = read.withUnsafeReadableBytes { $0.baseAddress }
        #expect(own.prefix(4).allSatisfy { $0 == shared } && !own.dropFirst(4).contains(shared))
        #expect(held.allSatisfy { $0 == piece })
    }

    @Test func `a held attempt writes nothing until it is released`() throws {
        let runner = stage.make(.local(1))
        runner.hold()
        let outcome = Outcome()
        runner.start(outcome.completed)
        #expect(stage.line.streams.isEmpty && runner.isBeginHeld)
        runner.release()
        let stream = try #require(stage.line.streams.first)
        runner.hold()
        #expect(!stream.user.wantsMore())
        runner.release()
        #expect(stream.user.wantsMore())
    }

    @Test func `a held attempt does not begin on a connection from before a sleep`() {
        let runner = stage.make(.local(1))
        runner.hold()
        runner.start(Outcome().completed)
        stage.line.facts.local = [192, 0, 2, 1]
        stage.pool.addresses.sleeps = 1
        runner.release()
        #expect(stage.line.isDeclined && stage.line.streams.isEmpty && runner.stage == .queued)
        stage.lendSpare()
        #expect(stage.spare.streams.count == 1)
    }

    @Test func `a deadline that has passed names its phase, and ends the stream`() throws {
        var attempt = Attempt.local(1)
        attempt.timeouts.firstByte = 0.001
        let (runner, outcome) = stage.start(attempt)
        let stream = try #require(stage.line.streams.first)
        #expect(runner.deadline < .now() + .milliseconds(1000))
        runner.deadlinePassed(.now() + .milliseconds(2000))
        #expect(outcome.failure?.phase == .firstByte && stream.isCancelled && runner.stage == .done)
    }

    @Test func `an expectation that the server refuses is sent again without it`() throws {
        var attempt = Attempt.local(1, method: "PUT", body: .bytes([1, 2, 3]))
        attempt.expectsContinue = true
        let (_, outcome) = stage.start(attempt)
        let first = try #require(stage.line.streams.first)
        #expect(first.expects && !first.isSent)
        var head = ResponseHead.ok(length: 0)
        head.status = 417
        first.user.responded(head, .length(0), stopSending: false)
        stage.lendSpare()
        let second = try #require(stage.spare.streams.first)
        #expect(!second.expects && outcome.head == nil && outcome.failure == nil && first.isCancelled)
    }
}

/// What a caller hears.
final class Outcome {
    private(set) var head: AttemptResponse?
    private(set) var failure: HTTPFailure?
    private(set) var text = ""
    private(set) var isOver = false
    /// Completions of the attempt itself.
    private(set) var count = 0

    func completed(_ result: Result<AttemptResponse, HTTPFailure>) {
        count += 1
        switch result {
        case .success(let response): head = response
        case .failure(let failure): self.failure = failure
        }
    }

    func took(_ piece: Result<ByteBuffer?, HTTPFailure>) {
        switch piece {
        case .success(let bytes?): text += String(buffer: bytes)
        case .success(nil): isOver = true
        case .failure(let failure): self.failure = failure
        }
    }
}

/// A pool on a loop of memory that may have one connection to the host, which is idle. Nothing is opened.
final class AttemptStage {
    let loop = EmbeddedEventLoop()
    let pool: ConnectionPool
    let line: ScriptedLine
    let spare: ScriptedLine

    init() {
        pool = ConnectionPool(on: loop, config: .init(), mostConnections: 8)
        line = ScriptedLine(pool)
        spare = ScriptedLine(pool)
        _ = pool.ask(Borrower())
        pool.takeBack(line)
    }

    /// The pool gets another connection in place of the first one, and lends it to an attempt that waits.
    func lendSpare() {
        pool.takeBack(spare)
        loop.run()
    }

    func make(_ attempt: Attempt) -> AttemptRunner {
        var attempt = attempt
        attempt.connectionsPerHost = 1
        let wiring = Wiring(resolver: NoNames(), tls: TLSBridge())
        return AttemptRunner(attempt, observer: RecordingObserver(), pool: pool, wiring: wiring)
    }

    func start(_ attempt: Attempt = .local(1)) -> (AttemptRunner, Outcome) {
        let (runner, outcome) = (make(attempt), Outcome())
        runner.start(outcome.completed)
        loop.run()
        return (runner, outcome)
    }
}

/// A connection on which a test says what happens.
final class ScriptedLine: AttemptConnection {
    let id: PoolMachine.ConnectionID
    let key = Borrower().key
    var facts = ConnectionFacts()
    let place: ConnectionPlace
    let generation = 0
    let holder = PoolHolder()
    var isDead = false
    /// The write in `begin` fails, and the connection says so at once.
    var diesOfWriting = false
    private(set) var streams: [ScriptedStream] = []
    private(set) var isClosed = false
    private(set) var isDeclined = false
    private let pool: ConnectionPool

    init(_ pool: ConnectionPool) {
        self.pool = pool
        id = pool.makeID()
        place = ConnectionPlace(.service, pool)
    }

    func reserve(for holder: PoolHolder) {}
    func close() { isClosed = true }
    func drain() {}
    func decline() { isDeclined = true }

    func begin(_ attempt: Attempt, expects: Bool, for user: any ConnectionUser) throws(HTTPFailure) -> BegunStream? {
        guard !isDead else { return nil }
        let stream = ScriptedStream(user, on: pool.loop, expects: expects)
        streams.append(stream)
        if diesOfWriting { user.ended(.beforeResponse(replayable: true), nil) }
        return BegunStream(stream: stream, bytes: 100, number: nil, isReused: true)
    }
}

final class ScriptedStream: AttemptStream {
    let user: any ConnectionUser
    let expects: Bool
    private(set) var isSent = false
    private(set) var isCancelled = false
    private(set) var consumed = 0
    private let loop: any EventLoop

    init(_ user: any ConnectionUser, on loop: any EventLoop, expects: Bool) {
        self.user = user
        self.loop = loop
        self.expects = expects
    }

    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int> {
        loop.makeSucceededFuture(piece.readableBytes)
    }
    func requestSent() { isSent = true }
    func consumed(_ bytes: Int) { consumed += bytes }
    func cancel() { isCancelled = true }
}

/// Finds no address: nothing is opened.
struct NoNames: NameResolver {
    func addresses(
        of host: String, port: Int, for client: ClientKey, _ interest: LookupInterest, on loop: any EventLoop
    ) -> EventLoopFuture<[SocketAddress]> {
        loop.makeFailedFuture(ChannelError.eof)
    }
}

extension ResponseHead {
    static func ok(length: Int) -> ResponseHead {
        let fields: HTTPFields = [HTTPFields.Field("Content-Length", String(length))]
        return ResponseHead(status: 200, reason: "OK", version: .http11, fields: fields)
    }
}
