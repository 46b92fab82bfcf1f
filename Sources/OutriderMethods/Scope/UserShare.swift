// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// What the connections of one user share: detached requests, and sessions and routers that were made for all of them.
///
/// No connection of another user finds any of it.
final class UserShare: Sendable {
    let handles = HandleTable()
    /// Shared sessions by name.
    let sessions = NameTable()
    /// Caches by name.
    let caches: NamedCaches
    let routers: RouterTable

    /// - Parameters:
    ///   - routers: those that the service was started with, which all users share.
    ///   - isOtherUser: the user is not the one of the service, whose disk is not for others.
    init(routers: RouterTable, isOtherUser: Bool) {
        self.routers = RouterTable(shared: routers)
        caches = NamedCaches(isOnDisk: !isOtherUser)
    }
}

/// The shares of all users, each made when a connection of the user first comes.
final class UserShares: Sendable {
    /// By user id; nil where the kernel does not tell, as on stdio.
    private let shares = Mutex<[Int?: UserShare]>([:])

    func share(of user: Int?, routers: RouterTable) -> UserShare {
        shares.withLock { shares in
            if let share = shares[user] { return share }
            let share = UserShare(routers: routers, isOtherUser: user.map { $0 != Int(geteuid()) } ?? false)
            shares[user] = share
            return share
        }
    }

    /// Writes what waits for a disk.
    func settle() async {
        for share in shares.withLock({ Array($0.values) }) { await share.caches.close() }
    }

    /// Ends everything, and refuses more.
    func close() {
        for share in shares.withLock({ Array($0.values) }) { share.handles.close() }
    }
}
