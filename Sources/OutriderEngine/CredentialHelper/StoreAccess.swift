// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

extension StoreRoot {
    private static let lockSeconds = 45.0

    private var lockPath: String { "\(directory)/lock" }

    /// Prevents a change of the store's key as long as the lock lives: no holder sees a half-changed store. Finishes a
    /// change that a killed process began. Nil if there is no store.
    func share() throws(OAuthFailure) -> FileLock? {
        while true {
            guard access(directory, F_OK) == 0 else { return nil }
            // the key of a read-only store cannot change
            guard access(lockPath, F_OK) == 0 || access(directory, W_OK) == 0 else { return nil }
            let lock = try FileLock(lockPath, isShared: true, within: Self.lockSeconds, busy: busy)
            guard Rekeying.isCommitted(directory) else { return lock }
            lock.release()
            _ = try own()
        }
    }

    /// Excludes all other processes as long as the lock lives.
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
