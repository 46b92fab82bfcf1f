// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix

/// A few threads for work that waits for disks, so that it keeps nobody waiting but its own kind. They start when the first
/// work comes, and stay.
package final class BlockingThreads: TaskExecutor {
    /// Writes that the kernel takes into its memory, as a rule.
    package static let writing = BlockingThreads(4)
    /// Waits until bytes have reached the medium, which may take minutes.
    package static let syncing = BlockingThreads(4)

    private let pool: NIOThreadPool

    private init(_ count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
