// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Synchronization
import Testing

/// The loop of all transports of the tests.
let testGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)

/// Runs tasks on an event loop, as the service does.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Does something in a task that runs on the loop of the transports.
func onLoop<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await Task(executorPreference: LoopExecutor(testGroup.next())) { try await body() }.value
}

/// Remembers what it heard.
final class RecordingObserver: AttemptObserver {
    struct Heard {
        var sending = 0
        var bodySent: [Int64] = []
        var informational: [Int] = []
    }

    private let mutex = Mutex(Heard())

    var heard: Heard { mutex.withLock { $0 } }
    func sending(_ control: any AttemptControl) { mutex.withLock { $0.sending += 1 } }
    func bodySent(_ bytes: Int64, onWire: Int64?) { mutex.withLock { $0.bodySent.append(bytes) } }
    func informational(_ head: ResponseHead) { mutex.withLock { $0.informational.append(head.status) } }
}

/// A response, read to its end.
struct WholeResponse: Sendable {
    var status: Int
    var fields: HTTPFields
    var body: ByteBuffer
    var trailers: HTTPFields
    var timeline: Timeline

    var text: String { String(buffer: body) }
}

extension HTTPTransport {
    func wholeResponse(_ attempt: Attempt, observer: RecordingObserver = RecordingObserver()) async throws(HTTPFailure)
        -> WholeResponse
    {
        let response = try await send(attempt, observer: observer)
        var body = ByteBuffer()
        while let piece = try await response.body.next() { body.writeImmutableBuffer(piece) }
        return WholeResponse(
            status: response.status, fields: response.fields, body: body, trailers: response.body.trailers,
            timeline: response.body.timeline)
    }

    /// The failure that an attempt must end with.
    func failure(_ attempt: Attempt, sourceLocation: SourceLocation = #_sourceLocation) async -> HTTPFailure? {
        do throws(HTTPFailure) {
            let response = try await wholeResponse(attempt)
            Issue.record("it responded \(response.status) \(response.text.prefix(100))", sourceLocation: sourceLocation)
            return nil
        } catch {
            return error
        }
    }
}

extension HTTPTransport {
    /// Whether its connections come to stand so before long.
    func comesTo(_ holds: (PoolMachine.Counts) -> Bool) async throws -> Bool {
        for _ in 0..<2_000 {
            if holds(await counts()) { return true }
            try await testGroup.next().scheduleTask(in: .milliseconds(5)) {}.futureResult.get()
        }
        return false
    }
}

func makeTransport(_ settings: HTTPTransport.Settings = .init()) -> HTTPTransport {
    HTTPTransport(group: testGroup.next(), settings: settings)
}

extension Attempt {
    /// A request to a port on loopback. No timeout but those that a test sets itself ends before the test does.
    static func local(_ port: Int, _ target: String = "/", method: String = "GET", body: AttemptBody = .none) -> Attempt
    {
        let url = HTTPURL(scheme: .http, host: "127.0.0.1", port: port, target: target)
        var attempt = Attempt(method: method, url: url, fields: [], body: body)
        attempt.timeouts.resolve = 100
        attempt.timeouts.connect = 100
        attempt.timeouts.tls = 100
        attempt.timeouts.firstByte = 100
        attempt.timeouts.idle = 100
        attempt.timeouts.total = 100
        return attempt
    }
}

extension ScriptedServer.Step {
    /// 200 with a length.
    static func ok(_ body: String, fields: String = "") -> Self {
        .send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)")
    }
}
