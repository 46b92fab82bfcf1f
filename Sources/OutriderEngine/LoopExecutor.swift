// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP
import OutriderTransport

/// Runs the jobs of tasks on an event loop, so that an exchange and its connection never hop between threads.
package final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) { self.loop = loop }

    /// Runs the work on the loop, after this call has returned.
    func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs blocking work, such as file access, away from the event loop, within the share of its client.
package func offLoop<Value: Sendable>(
    for client: ClientKey, _ work: @escaping @Sendable () throws(HTTPFailure) -> Value
) async throws(HTTPFailure) -> Value {
    try await run(for: client, on: .files, work)
}

/// The same for work that cannot fail, and is never refused: the work releases a resource, or has to end.
package func offLoop<Value: Sendable>(
    owedTo client: ClientKey, _ work: @escaping @Sendable () -> Value
) async -> Value {
    await withUnsafeContinuation { continuation in
        BlockingThreads.files.run(for: client, isOwed: true) { continuation.resume(returning: work()) }
    }
}

/// Runs a long computation away from the event loop, within the share of its client.
package func compute<Value: Sendable>(
    for client: ClientKey, _ work: @escaping @Sendable () throws(HTTPFailure) -> Value
) async throws(HTTPFailure) -> Value {
    try await run(for: client, on: .computing, work)
}

private func run<Value: Sendable>(
    for client: ClientKey, on threads: BlockingThreads, _ work: @escaping @Sendable () throws(HTTPFailure) -> Value
) async throws(HTTPFailure) -> Value {
    let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, HTTPFailure>, Never>) in
        let isTaken = threads.run(for: client) {
            continuation.resume(returning: Result { () throws(HTTPFailure) in try work() })
        }
        if !isTaken { continuation.resume(returning: .failure(.tooMuchWaits)) }
    }
    return try result.get()
}

/// Runs work that computes, and does not block, away from the event loop.
package func background<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withTaskExecutorPreference(globalConcurrentExecutor) { work() }
}

extension HTTPFailure {
    fileprivate static var tooMuchWaits: HTTPFailure {
        HTTPFailure(
            .sessionTaskFailed, "too much work on files waits for this client (wait until some of it is done)",
            retryable: true)
    }
}
