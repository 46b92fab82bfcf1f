// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// An attempt whose response has a body. On the pool's loop, unless stated otherwise.
protocol BodyRunner: HoldableRunner, Sendable {
    /// The next piece; nil if the caller must wait.
    func tryNext() -> Result<ByteBuffer?, HTTPFailure>?
    func poll(_ completion: @escaping BodyQueue.Hand) -> Result<ByteBuffer?, HTTPFailure>?
    func cancel()
    /// The rest of the body is unwanted.
    func abandon()
    /// From any thread.
    var wireBytes: (got: Int64, of: Int64?)? { get }
    /// From any thread.
    var trailers: HTTPFields { get }
    /// From any thread.
    var timeline: Timeline { get }
}

/// For bodies that end with their connection.
extension BodyRunner {
    func abandon() { cancel() }
    var wireBytes: (got: Int64, of: Int64?)? { nil }
    var trailers: HTTPFields { [] }
}

/// The body of a response as its reader sees it. The rest of the body is abandoned with the last reference.
final class ResponseBody<Runner: BodyRunner>: AttemptResponseBody {
    private let runner: Runner
    let expectedBytes: Int64?

    init(_ runner: Runner, expectedBytes: Int64?) {
        self.runner = runner
        self.expectedBytes = expectedBytes
    }

    deinit { abandon() }

    private var loop: any EventLoop { runner.pool.loop }

    func next() async throws(HTTPFailure) -> ByteBuffer? {
        let runner = runner
        let loop = loop
        let isOnLoop = loop.inEventLoop
        if isOnLoop, !Task.isCancelled, let ready = runner.tryNext() { return try ready.get() }
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: Continuation) in
                let pull = { @Sendable in
                    if let ready = runner.poll({ continuation.resume(returning: $0) }) {
                        continuation.resume(returning: ready)
                    }
                }
                if isOnLoop { pull() } else { loop.execute(pull) }
            }
        } onCancel: {
            loop.execute { runner.cancel() }
        }.get()
    }

    var wireBytes: (got: Int64, of: Int64?)? { runner.wireBytes }

    private typealias Continuation = UnsafeContinuation<Result<ByteBuffer?, HTTPFailure>, Never>

    var trailers: HTTPFields { runner.trailers }

    var timeline: Timeline { runner.timeline }

    func abandon() {
        let runner = runner
        if loop.inEventLoop { runner.abandon() } else { loop.execute { runner.abandon() } }
    }
}
