// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

extension StoreRoot {
    private static let lockSeconds = 45.0

    private var lockPath: String { "\(directory)/lock" }

    /// Keeps others from giving the store another key, as long as the lock lives: no holder sees half of that. What
    /// a killed process began is carried to its end before. Nil where there is no store.
    func share() throws(OAuthFailure) -> FileLock? {
        while true {
            guard access(directory, F_OK) == 0 else { return nil }
            // nobody gives another key to what nobody can write
            guard access(lockPath, F_OK) == 0 || access(directory, W_OK) == 0 else { return nil }
            let lock = try FileLock(lockPath, isShared: true, within: Self.lockSeconds, busy: busy)
            guard Rekeying.isCommitted(directory) else { return lock }
            lock.release()
            _ = try own()
        }
    }

    /// No other process reads or writes here, as long as the lock lives.
    func own() throws(OAuthFailure) -> FileLock {
        try prepare()
        let lock = try FileLock(lockPath, within: Self.lockSeconds, busy: busy)
        try Rekeying.finish(directory)
        return lock
    }

    private var busy: OAuthFailure {
        OAuthFailure(
            .temporary, "store_busy",
            "other processes have used \(directory) for \(Int(Self.lockSeconds)) seconds without a pause; try again",
            retryAfter: 1)
    }
}
