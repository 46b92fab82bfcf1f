// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

/// Starts threads for work that blocks, and must not occupy a thread of the task executors.
package enum DetachedThread {
    private final class Body: Sendable {
        let name: String?
        let run: @Sendable () -> Void

        init(_ name: String?, _ run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// False if the system has no room for another thread.
    ///
    /// - Parameter name: the name in the system's lists, at most 15 bytes; nil for the name of the process.
    package static func start(_ name: String? = nil, _ run: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        let body = Unmanaged.passRetained(Body(name, run)).toOpaque()
        let failed = pthread_create(
            &thread, nil,
            { body in
                guard let body else { return nil }
                let taken = Unmanaged<Body>.fromOpaque(body).takeRetainedValue()
                if let name = taken.name { outrider_name_thread(name) }
                taken.run()
                return nil
            }, body)
        if failed == 0 {
            pthread_detach(thread)
        } else {
            Unmanaged<Body>.fromOpaque(body).release()
        }
        return failed == 0
    }
}
