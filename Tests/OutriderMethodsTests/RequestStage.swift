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

/// A network on which every server responds in the same way.
struct CannedTransport: Transport {
    var status = 200
    var contentType = "application/json"
    var body: [UInt8] = []
    var failure: HTTPFailure?
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        CannedAttempt(self, observer)
    }
}

/// The whole body as the first chunk, then its end.
private final class CannedAttempt: LoopAttempt {
    private let transport: CannedTransport
    private let observer: any AttemptObserver
    private var isGiven = false

    init(_ transport: CannedTransport, _ observer: any AttemptObserver) {
        self.transport = transport
        self.observer = observer
    }

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        observer.sending(NoControl())
        completion(
            .success(
                AttemptResponse(
                    status: transport.status, reason: "", version: "1.1",
                    fields: [HTTPFields.Field("Content-Type", transport.contentType)],
                    body: CannedBody(bytes: transport.body, failure: transport.failure))))
    }

    func poll(_ completion: @escaping (Result<ByteBuffer?, HTTPFailure>) -> Void) -> Result<ByteBuffer?, HTTPFailure>? {
        defer { isGiven = true }
        if !isGiven, !transport.body.isEmpty { return .success(ByteBuffer(bytes: transport.body)) }
        if let failure = transport.failure { return .failure(failure) }
        return .success(nil)
    }

    func cancel() {}
}

/// The same body for those who pull it with a task.
private final class CannedBody: AttemptResponseBody {
    let bytes: [UInt8]
    let failure: HTTPFailure?
    private let isGiven = Mutex(false)

    init(bytes: [UInt8], failure: HTTPFailure?) {
        self.bytes = bytes
        self.failure = failure
    }

    var expectedBytes: Int64? { Int64(bytes.count) }
    var trailers: HTTPFields { [] }
    var timeline: Timeline { Timeline() }

    func next() async throws(HTTPFailure) -> ByteBuffer? {
        let isFirst = isGiven.withLock { given in
            defer { given = true }
            return !given
        }
        if isFirst, !bytes.isEmpty { return ByteBuffer(bytes: bytes) }
        if let failure { throw failure }
        return nil
    }

    func abandon() {}
}

/// One client of a service whose network is canned.
struct RequestStage {
    let peer: ScriptedPeer
    let scope: ClientScope

    init(_ transport: CannedTransport = CannedTransport(), on kind: PeerInfo.Transport = .socket) {
        peer = ScriptedPeer(transport: kind)
        let engine = Engine(transport: transport, group: MultiThreadedEventLoopGroup.singleton)
        scope = ClientScope(Service(engine: engine) { PoolCounts() }, ScriptedControl())
    }

    func call(_ method: String, _ params: JSONObject) async throws -> JSONObject {
        try #require(try await Call.run(method, .object(params), peer: peer, scope: scope).object)
    }

    /// The result as it is written.
    func text(_ method: String, _ params: JSONObject) async throws -> String {
        String(decoding: try await reply(method, params).bytes, as: UTF8.self)
    }

    /// The result with its raw bytes, for a call that is alone or in a batch.
    func reply(_ method: String, _ params: JSONObject, isAlone: Bool = false) async throws -> JSONText {
        let later = AfterReplyQueue(isAlone: isAlone)
        return try await Call(id: .integer(1), scope: scope, peer: peer, later: later).text(method, .object(params))
    }

    func error(_ method: String, _ params: JSONObject) async -> RPCError? {
        await #expect(throws: RPCError.self) { _ = try await call(method, params) }
    }
}

/// Nothing to hold up.
final class NoControl: AttemptControl {
    func hold() {}
    func release() {}
}
