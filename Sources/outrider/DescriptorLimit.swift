// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine

/// The limit of descriptors for the service, and the share for connections to servers.
enum DescriptorLimit {
    /// Raises the soft limit of the process to the hard limit, and returns the new limit. Programs that the service
    /// starts get the former limit.
    static func raise() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if setrlimit(resource, &raised) == 0 {
            ChildProcess.fileLimit.withLock { [limit] in
                $0 = (soft: UInt64(limit.rlim_cur), hard: UInt64(limit.rlim_max))
            }
            limit = raised
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Checks that enough descriptors are free for the start: the libraries stop the process without a sentence
    /// where one is missing.
    ///
    /// - Parameter loops: each takes three: epoll, an event, a timer.
    static func check(_ limit: Int, loops: Int) throws(CommandFailure) {
        let needed = 3 * min(loops, 1 << 16) + 12
        var taken: [Int32] = []
        while taken.count < needed {
            let file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
            guard file >= 0 else { break }
            taken.append(file)
        }
        for file in taken { close(file) }
        if taken.count == needed { return }
        throw CommandFailure(
            .error,
            "the limit of \(limit) open files is too low: the service needs \(needed) more, and may open \(taken.count)"
                + " (raise the hard limit: ulimit -Hn, or LimitNOFILE of a unit)")
    }

    /// A quarter of the descriptors, so that clients leave enough for connections and files. From 64 to 10,240.
    static func clients(of descriptors: Int) -> Int { min(max(64, descriptors / 4), 10_240) }

    /// Three quarters of the descriptors that clients, files and the process itself leave: an attempt briefly tries two
    /// addresses at once if the first is slow. From 16 to 16,384.
    static func connections(of descriptors: Int, clients: Int) -> Int {
        let left = min(descriptors, 1 << 20) - clients - 128
        return min(max(16, left / 4 * 3), 16_384)
    }
}
