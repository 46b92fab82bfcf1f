// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// An attempt of the engine's own, whose body is read from any thread and polled on the loop.
protocol PolledAttempt: LoopAttempt, Sendable {
    var loop: any EventLoop { get }

    /// Abandons the rest of the body. On the loop.
    func abandon()
}

extension PolledAttempt {
    /// The next piece of the body; nil after the last. Cancelling the task cancels the attempt.
    func next() async throws(HTTPFailure) -> ByteBuffer? {
        let loop = loop
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation {
                (continuation: UnsafeContinuation<Result<ByteBuffer?, HTTPFailure>, Never>) in
                let pull = { @Sendable in
                    if let ready = self.poll({ continuation.resume(returning: $0) }) {
                        continuation.resume(returning: ready)
                    }
                }
                if loop.inEventLoop { pull() } else { loop.execute(pull) }
            }
        } onCancel: {
            loop.execute { self.cancel() }
        }.get()
    }

    /// Abandons the rest of the body, from any thread.
    func giveUp() {
        if loop.inEventLoop { abandon() } else { loop.execute { self.abandon() } }
    }
}
