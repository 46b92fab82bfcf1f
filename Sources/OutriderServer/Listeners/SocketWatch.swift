// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Waits until the path of a listening socket no longer leads to that socket: the file was removed or replaced, or its
/// directory went away.
///
/// No client can reach a service without its file, and its lock keeps a second service from starting. The kernel
/// reports the change (inotify(7)), so an idle service is not woken.
enum SocketWatch {
    /// Calls `lost` once, on a thread of its own; never after `file.remove()`.
    static func start(_ file: SocketFile, lost: @escaping @Sendable () -> Void) {
        let queue = inotify_init1(Int32(IN_CLOEXEC))
        guard queue >= 0 else { return }
        let events = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF
        guard inotify_add_watch(queue, file.directory, UInt32(bitPattern: Int32(events))) >= 0 else {
            close(queue)
            return
        }
        let isWatched = BlockingThread.start {
            defer { close(queue) }
            var events = [UInt8](repeating: 0, count: 4096)
            while !file.isReleased {
                guard file.isInPlace else {
                    // a release comes before the removal
                    if !file.isReleased { lost() }
                    return
                }
                // the content does not matter: every event triggers a check of the path
                if read(queue, &events, events.count) < 0, errno != EINTR { return }
            }
        }
        if !isWatched { close(queue) }
    }
}
