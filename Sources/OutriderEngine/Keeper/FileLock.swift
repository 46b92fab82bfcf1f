// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// A lock of the system on a file that we never remove (flock(2)); it ends with this value, or with the process. Where others
/// have put another file in its place, as from a backup, that one counts: later processes know no other.
final class FileLock {
    private var file: CInt

    /// Waits for it.
    ///
    /// - Parameters:
    ///   - isShared: many may hold the lock, as long as no process holds it alone.
    ///   - busy: what is thrown when another process holds it longer than that, in seconds.
    init(
        _ path: String, isShared: Bool = false, within seconds: Double, busy: @autoclosure () -> OAuthFailure
    ) throws(OAuthFailure) {
        file = try Self.opened(path)
        let end = Clocks.awake + seconds
        var wait: useconds_t = 1000
        while true {
            if flock(file, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 {
                if Workspace.isSame(file, path) { return }
                close(file)
                file = -1
                file = try Self.opened(path)
            } else if errno != EWOULDBLOCK && errno != EINTR {
                throw StoreFile.failure("lock", path)
            }
            guard Clocks.awake < end else { throw busy() }
            usleep(wait)
            wait = min(wait * 2, 50_000)
        }
    }

    private static func opened(_ path: String) throws(OAuthFailure) -> CInt {
        do throws(FileFault) {
            return try CheckedFile.open(path, O_RDWR | O_CREAT, [.regular, .noLink])
        } catch .system(EROFS), .system(EACCES) {
            // a store on a read-only disk can be locked, and read
            do throws(FileFault) {
                return try CheckedFile.open(path, O_RDONLY, [.regular, .noLink])
            } catch {
                throw StoreFile.failure("open", path, error)
            }
        } catch {
            throw StoreFile.failure("open", path, error)
        }
    }

    /// Before its end.
    func release() {
        if file >= 0 { close(file) }
        file = -1
    }

    deinit { release() }
}
