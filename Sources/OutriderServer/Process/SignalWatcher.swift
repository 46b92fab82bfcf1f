// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// SIGTERM, SIGINT and SIGHUP end the service within a second in any state; a second signal ends the service at once.
enum SignalWatcher {
    private static let pipeEnd = Atomic<Int32>(-1)
    private static let first = Atomic<Int32>(0)

    /// Turns a write to a closed pipe, or over a file size limit, into an error instead of the end of the process.
    static func ignoreWriteSignals() {
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGXFSZ, SIG_IGN)
    }

    /// Calls back with the first signal on a thread of its own, and ends the process 0.9 s later if still running.
    static func start(_ signalled: @escaping @Sendable (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        let (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Initializes both before the handler can use them.
        first.store(0, ordering: .relaxed)
        pipeEnd.store(writing, ordering: .sequentiallyConsistent)
        let isWatched = BlockingThread.start {
            var number: UInt8 = 0
            while read(reading, &number, 1) < 0 && errno == EINTR {}
            guard number > 0 else { return }
            signalled(Int32(number))
            usleep(900_000)
            _exit(128 + Int32(number))
        }
        // without a thread a signal ends the process at once
        if isWatched { for number in [SIGTERM, SIGINT, SIGHUP] { install(number) } }
    }

    private static func install(_ number: Int32) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            let saved = errno
            if SignalWatcher.first.exchange(number, ordering: .sequentiallyConsistent) != 0 { _exit(128 + number) }
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(SignalWatcher.pipeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }
}
