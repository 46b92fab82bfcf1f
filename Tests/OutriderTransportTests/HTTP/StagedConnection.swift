// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOEmbedded
import OutriderHTTP
import Testing

@testable import OutriderTransport

/// An HTTP/1.1 connection on a channel of memory, with the pool that gets it back.
final class StagedConnection {
    let channel = EmbeddedChannel()
    let pool: ConnectionPool
    let connection: HTTP1Connection
    /// Reads that the connection has asked the channel for.
    let reads = ReadCounter()
    private let borrower: Borrower

    init() throws {
        pool = ConnectionPool(on: channel.embeddedEventLoop, config: .init(), mostConnections: 8)
        borrower = Borrower()
        // the pool counts a connection from the moment when it tells a waiter to open one
        _ = pool.ask(borrower)
        var place: ConnectionPlace?
        _ = pool.place(for: .service) { place = try? $0.get() }
        connection = HTTP1Connection(
            id: pool.makeID(), key: borrower.key, channel: channel, facts: ConnectionFacts(), generation: 0,
            place: try #require(place), holder: borrower.holder, pool: pool)
        try channel.pipeline.syncOperations.addHandler(reads)
        try connection.install()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Sends a request, and takes its bytes off the channel.
    @discardableResult
    func begin(_ method: String = "GET", body: AttemptBody = .none) throws -> HeardResponse {
        let attempt = Attempt.local(1, method: method, body: body)
        let user = HeardResponse()
        let begun = try #require(try connection.begin(attempt, expects: false, for: user))
        user.isReused = begun.isReused
        _ = try channel.readOutbound(as: ByteBuffer.self)
        connection.requestSent()
        return user
    }

    /// One read from the network.
    func receive(_ bytes: some Sequence<UInt8>) throws {
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: Array(bytes)))
        channel.pipeline.fireChannelReadComplete()
        channel.embeddedEventLoop.run()
    }

    func receive(_ text: String) throws { try receive(text.utf8) }

    /// The server ends the connection.
    func disconnect() {
        channel.pipeline.fireChannelInactive()
        channel.embeddedEventLoop.run()
    }
}

/// Stands for an attempt that wants a connection.
final class Borrower: PoolWaiter {
    let key = PoolKey.of(.local(1)).0
    let connectionsPerHost = 8
    let holder = PoolHolder()
    private(set) var lent: (any AttemptConnection)?

    func carry(on connection: any AttemptConnection) { lent = connection }
    func openConnection() {}
    func refused(_ failure: HTTPFailure) { Issue.record("\(failure)") }
}

final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}

/// Writes down what a connection tells its user.
final class HeardResponse: ConnectionUser, CustomStringConvertible {
    var isReused = false
    var wants = true
    private(set) var heads: [ResponseHead] = []
    private(set) var framing: BodyFraming?
    private(set) var stopsSending = false
    private(set) var body: [UInt8] = []
    private(set) var trailers: HTTPFields?
    private(set) var end: ConnectionEnd?

    func received(_ bytes: Int) {}
    func informational(_ head: ResponseHead) { heads.append(head) }
    func responded(_ head: ResponseHead, _ framing: BodyFraming, stopSending: Bool) {
        heads.append(head)
        self.framing = framing
        stopsSending = stopSending
    }
    func bodyCame(_ bytes: ByteBuffer) { body += bytes.readableBytesView }
    func completed(trailers: HTTPFields) { self.trailers = trailers }
    func ended(_ end: ConnectionEnd, _ error: (any Error)?) { self.end = end }
    func wantsMore() -> Bool { wants }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// All of it, for comparison.
    var description: String {
        let heads = heads.map { head in
            let fields = head.fields.list.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
            return "\(head.version) \(head.status) \(head.reason.debugDescription) [\(fields)]"
        }
        let ending = end.map { "ended \($0)" } ?? trailers.map { "completed, \($0.list.count) trailers" } ?? "open"
        return "\(heads) \(framing.map { "\($0)" } ?? "-") \(text.debugDescription) \(ending)"
    }
}
