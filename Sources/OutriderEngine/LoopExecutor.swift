// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Runs the jobs of tasks on an event loop, so that an exchange and its connection never hop between threads.
package final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) { self.loop = loop }

    /// Runs the work on the loop, not before this returns.
    func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs blocking work away from the event loop, and comes back with its result.
package func offLoop<Value: Sendable>(
    on executor: any TaskExecutor = globalConcurrentExecutor,
    _ work: @escaping @Sendable () throws(HTTPFailure) -> Value
) async throws(HTTPFailure) -> Value {
    let result = await withTaskExecutorPreference(executor) {
        Result { () throws(HTTPFailure) in try work() }
    }
    return try result.get()
}

/// The same for work that cannot fail.
package func background<Value: Sendable>(
    on executor: any TaskExecutor = globalConcurrentExecutor, _ work: @escaping @Sendable () -> Value
) async -> Value {
    await withTaskExecutorPreference(executor) { work() }
}
