// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Waits until the path of a listening socket no longer leads to that socket: the file was removed or replaced, or its
/// directory went away, or its file system was unmounted.
///
/// No client can reach a service without its file, and its lock keeps a second service from starting. The kernel
/// reports the change, so an idle service is not woken: inotify(7) a change of the directory, and `mountinfo` (proc(5))
/// an unmounting, such as that of the runtime directory when its user logs out.
enum SocketWatch {
    /// Between looks at mounted file systems, which change in rows, in microseconds.
    private static let pause: UInt32 = 100_000

    /// Calls `lost` once, on a thread of its own; never after `file.remove()`.
    static func start(_ file: SocketFile, lost: @escaping @Sendable () -> Void) {
        let queue = inotify_init1(Int32(IN_CLOEXEC))
        guard queue >= 0 else { return }
        let events = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
        guard inotify_add_watch(queue, file.directory, UInt32(bitPattern: Int32(events))) >= 0 else {
            close(queue)
            return
        }
        let mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        let isWatched = BlockingThread.start {
            defer { for end in [queue, mounts] { close(end) } }
            var changes = [
                pollfd(fd: queue, events: Int16(POLLIN), revents: 0),
                pollfd(fd: mounts, events: Int16(POLLPRI), revents: 0),
            ]
            var events = [UInt8](repeating: 0, count: 4096)
            while !file.isReleased {
                guard file.isInPlace else {
                    // a release comes before the removal
                    if !file.isReleased { lost() }
                    return
                }
                // the content does not matter: every event triggers a check of the path
                if poll(&changes, 2, -1) < 0 {
                    if errno != EINTR { return }
                } else if changes[0].revents != 0, read(queue, &events, events.count) < 0, errno != EINTR {
                    return
                } else if changes[1].revents != 0 {
                    usleep(pause)
                }
            }
        }
        if !isWatched { for end in [queue, mounts] { close(end) } }
    }
}
