// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
package import OutriderRPC
import Synchronization

/// What a method may reach: the service as a whole, and what belongs to this client.
package final class ClientScope: ConnectionScope {
    package let service: Service
    package let control: any ServerControl
    /// What this client has opened and not released; nothing of it outlives the connection, unless detached.
    package let handles: HandleTable

    /// What the connections of its user share.
    let share: UserShare
    /// How much may be kept for this client.
    let quota: BodyQuota
    let recent = RecentHandles()
    /// Its own sessions that have a name.
    let sessions = NameTable()
    /// The cache of its requests without a session, if they ask for one.
    let cache = OwnCache()
    /// What stands before the network for its requests without a session.
    let stages = OwnStage()
    /// What this client is to decide, for `events.next` without a request.
    let inbox = EventQueue()
    /// Where its code is asked for credentials.
    let desks = ChallengeDesks()
    let routers: RouterTable
    /// Its code that decides about servers and keys; nil until a request names some.
    private let security = Mutex<(any SecurityAsking)?>(nil)
    private let ended = Atomic(false)
    /// Who it is, for those who watch.
    let owner: MonitorOwner

    /// - Parameters:
    ///   - connection: what the connection is called in logs.
    ///   - user: who the client is, where the kernel tells.
    package init(
        _ service: Service, _ control: any ServerControl, connection: String = "con_", user: Int? = nil
    ) {
        owner = MonitorOwner(connection)
        self.service = service
        self.control = control
        quota = service.engine.makeQuota()
        share = service.shares.share(of: user, routers: service.routers)
        handles = HandleTable(detached: share.handles, streams: service.streams, user: user)
        routers = RouterTable(shared: share.routers)
    }

    package func inputEnded() {
        ended.store(true, ordering: .relaxed)
        handles.inputEnded()
    }

    /// The client will send nothing more.
    var hasEndedInput: Bool { ended.load(ordering: .relaxed) }

    package var owes: Bool { handles.owes }

    /// Calls the code of this client about servers and keys.
    func securityAsker(make: () -> any SecurityAsking) -> any SecurityAsking {
        security.withLock { asker in
            if let asker { return asker }
            let made = make()
            asker = made
            return made
        }
    }

    package func close() {
        security.withLock { $0 = nil }
        owner.leave()
        service.passphrases.withdraw(owner)
        inbox.end()
        handles.close()
        stages.close()
    }
}
