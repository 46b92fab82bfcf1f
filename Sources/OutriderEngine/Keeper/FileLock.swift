// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// A lock of the system on a file that is never removed (flock(2)); it ends with this value, or with the process.
final class FileLock {
    private var file: CInt

    /// Waits for it.
    ///
    /// - Parameters:
    ///   - isShared: many may have it, as long as nobody has it alone.
    ///   - busy: what is thrown when somebody else keeps it longer than that, in seconds.
    init(
        _ path: String, isShared: Bool = false, within seconds: Double, busy: @autoclosure () -> OAuthFailure
    ) throws(OAuthFailure) {
        // a store on a read-only disk can be locked, and read
        var opened = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
        if opened < 0, errno == EROFS || errno == EACCES { opened = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        if opened < 0 { throw StoreFile.failure("open", path) }
        file = opened
        let end = Clocks.awake + seconds
        var wait: useconds_t = 1000
        while flock(file, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw StoreFile.failure("lock", path) }
            guard Clocks.awake < end else { throw busy() }
            usleep(wait)
            wait = min(wait * 2, 50_000)
        }
    }

    /// Before its end.
    func release() {
        if file >= 0 { close(file) }
        file = -1
    }

    deinit { release() }
}
