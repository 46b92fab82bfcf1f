// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import OutriderTransport
import Synchronization
import Testing

@testable import OutriderMethods

/// A client that remembers what it was told, and replies to every callback in one way.
final class ScriptedPeer: Peer {
    let info: PeerInfo
    private let told = Mutex<[Event]>([])
    private let agreed = Mutex(PeerTerms())
    private let reply: Result<CallbackResponse, RPCError>
    private let isGone: Bool

    init(
        transport: PeerInfo.Transport = .socket,
        reply: Result<CallbackResponse, RPCError> = .success(CallbackResponse(id: 7, value: .null)),
        isGone: Bool = false
    ) {
        info = PeerInfo(connection: "con_0000000000000000", transport: transport, framing: .line, pid: 4711, uid: 1000)
        self.reply = reply
        self.isGone = isGone
    }

    var terms: PeerTerms { agreed.withLock { $0 } }

    func hijack() throws(RPCError) -> any RawPipe { throw RPCError(.notPermitted, "a script has no bytes") }

    func agree(to terms: PeerTerms) { agreed.withLock { $0 = terms } }

    func notify(_ event: Event, unless isOver: (@Sendable () -> Bool)?) async throws(RPCError) {
        if isGone { throw RPCError(.clientGone, "gone") }
        told.withLock { $0.append(event) }
    }

    func queue(_ event: Event, unless isOver: (@Sendable () -> Bool)?) -> Bool {
        if isGone { return false }
        told.withLock { $0.append(event) }
        return true
    }

    func offer(_ event: Event, key: String, unless isOver: (@Sendable () -> Bool)?) -> Bool {
        told.withLock { $0.append(event) }
        return true
    }

    func call(_ callback: Callback, timeout: Duration) async throws(RPCError) -> CallbackResponse { try reply.get() }

    var events: [Event] { told.withLock { $0 } }

    /// Waits until the client was told so much.
    func events(_ count: Int) async -> [Event] {
        while events.count < count { await Task.yield() }
        return events
    }
}

/// A service without sockets.
final class ScriptedControl: ServerControl {
    let name = "outrider"
    let version = "1.2.3"
    let instanceID = "instance"
    let startedAt = ContinuousClock.now
    let stopped = Mutex<Duration?>(nil)
    let watched = Mutex<Int?>(nil)
    let log = Mutex(LogSetting(level: .warning, target: .stderr))

    func stop(grace: Duration) { stopped.withLock { $0 = grace } }

    func exit(status: Int32) {}

    func end(withProcess processID: Int) { watched.withLock { $0 = processID } }

    func setLog(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting {
        log.withLock { log in
            let before = log
            log = setting
            return before
        }
    }

    var counters: ServerCounters { ServerCounters() }

    var limits: [(name: StaticString, value: Int)] { [("messageBytes", 16_777_216)] }
}

/// A network without servers.
struct SilentTransport: Transport {
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt { RefusedAttempt() }
}

private final class RefusedAttempt: LoopAttempt {
    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        completion(.failure(HTTPFailure(.connectionRefused, "no server listens here")))
    }

    func poll(_ completion: @escaping (Result<ByteBuffer?, HTTPFailure>) -> Void) -> Result<ByteBuffer?, HTTPFailure>? {
        .success(nil)
    }

    func cancel() {}
}

extension ClientScope {
    static func scripted(_ control: ScriptedControl = ScriptedControl()) -> ClientScope {
        let engine = Engine(transport: SilentTransport(), group: MultiThreadedEventLoopGroup.singleton)
        return ClientScope(Service(engine: engine) { PoolCounts() }, control)
    }
}

extension Call<ClientScope> {
    /// Runs a method as the server does: from the params to the result, then what was put off until after the reply.
    static func run(
        _ method: String, _ params: JSONValue = .object([:]), peer: any Peer, scope: ClientScope,
        isUnwanted: Bool = false
    ) async throws -> JSONValue {
        let later = AfterReplyQueue()
        let text = try await Call(id: .integer(1), scope: scope, peer: peer, later: later).text(method, params)
        later.run(isUnwanted: isUnwanted)
        return try JSONParser.parse(text.bytes)
    }

    /// The result of a method as it is written. Cancelling the task cancels the call.
    func text(_ method: String, _ params: JSONValue) async throws -> JSONText {
        let outcome = CallOutcome()
        switch try #require(Methods.table[method]).started(params, self, { outcome.set($0) }) {
        case .task(let work): return try await work()
        case .inline(let inline):
            return try await withTaskCancellationHandler {
                try await outcome.result.get()
            } onCancel: {
                inline.cancel()
            }
        }
    }
}

/// The outcome of a call without a task.
private final class CallOutcome: Sendable {
    private let (results, continuation) = AsyncStream.makeStream(of: Result<JSONText, RPCError>.self)

    func set(_ result: Result<JSONText, RPCError>) {
        continuation.yield(result)
        continuation.finish()
    }

    /// Not cancelled with its task: the call ends soon, with an error.
    var result: Result<JSONText, RPCError> {
        get async {
            await Task { [results] in await results.first { _ in true } }.value
                ?? .failure(RPCError(.internalError, "the call ended without an outcome"))
        }
    }
}
