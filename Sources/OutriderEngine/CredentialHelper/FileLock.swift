// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// A lock of the system on a file that we never remove (flock(2)); ends with this value, or with the process. If the
/// file was replaced, as from a backup, the new file is locked: later processes find no other.
final class FileLock {
    private var file: CInt

    /// Waits for the lock.
    ///
    /// - Parameters:
    ///   - isShared: many processes may hold the lock, unless a process holds it exclusively.
    ///   - busy: the error if another process holds the lock for longer than `seconds`.
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
            // a store on a read-only disk can be locked and read
            do throws(FileFault) {
                return try CheckedFile.open(path, O_RDONLY, [.regular, .noLink])
            } catch {
                throw StoreFile.failure("open", path, error)
            }
        } catch {
            throw StoreFile.failure("open", path, error)
        }
    }

    /// Releases the lock early.
    func release() {
        if file >= 0 { close(file) }
        file = -1
    }

    deinit { release() }
}
