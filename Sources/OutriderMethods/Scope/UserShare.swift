// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// State shared by the connections of a user: detached requests, shared sessions and shared routers.
///
/// Connections of other users have no access.
final class UserShare: Sendable {
    let handles = HandleTable()
    /// Shared sessions by name.
    let sessions = NameTable()
    /// Caches by name.
    let caches: NamedCaches
    let routers: RouterTable
    /// Nil where the kernel does not tell.
    let user: Int?

    /// - Parameters:
    ///   - routers: the routers that the service was started with, which all users share.
    ///   - isOtherUser: whether the user differs from the service's own, whose disk is not for others.
    init(of user: Int?, routers: RouterTable, isOtherUser: Bool) {
        self.user = user
        self.routers = RouterTable(shared: routers)
        caches = NamedCaches(of: user, isOnDisk: !isOtherUser)
    }
}

/// The shares of all users, each made on the first connection of the user.
final class UserShares: Sendable {
    /// By user id; nil if the kernel does not tell, as on stdio.
    private let shares = Mutex<[Int?: UserShare]>([:])

    func share(of user: Int?, routers: RouterTable) -> UserShare {
        shares.withLock { shares in
            if let share = shares[user] { return share }
            let share = UserShare(of: user, routers: routers, isOtherUser: user.map { $0 != Int(geteuid()) } ?? false)
            shares[user] = share
            return share
        }
    }

    /// Writes pending data to disk.
    func settle() async {
        for share in shares.withLock({ Array($0.values) }) { await share.caches.close() }
    }

    /// Closes all detached objects, and refuses more.
    func close() {
        for share in shares.withLock({ Array($0.values) }) { share.handles.close() }
    }
}
