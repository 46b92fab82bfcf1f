// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
package import OutriderRPC
import Synchronization

/// The state that a method may use: the service as a whole, and the client's own.
package final class ClientScope: ConnectionScope {
    package let service: Service
    package let control: any ServerControl
    /// The client's open handles; all end with the connection, except detached ones.
    package let handles: HandleTable

    /// State shared by the connections of the user.
    let share: UserShare
    /// The limits of stored bodies for this client.
    let quota: BodyQuota
    package let memory: (any PayloadMemory)?
    let recent = RecentHandles()
    /// The client's own named sessions.
    let sessions = NameTable()
    /// The cache for requests without a session, if they ask for a cache.
    let cache = OwnCache()
    /// Stubs and replays for requests without a session.
    let stages = OwnStage()
    /// Decisions that wait for this client, for `events.next` without a request.
    let inbox: EventQueue
    /// Callbacks to this client, and callbacks that this client pulls: each way has places of its own.
    let (line, decisionLine) = (CallbackLine(), CallbackLine())
    /// Challenge callbacks that requests share.
    let prompts = SharedChallengePrompts()
    let routers: RouterTable
    /// The client's callbacks about servers and keys; nil until a request names one.
    private let security = Mutex<(any SecurityCallbacks)?>(nil)
    private let ended = Atomic(false)
    /// The client's identity for monitors.
    let owner: MonitorOwner

    /// - Parameters:
    ///   - connection: the name of the connection in logs.
    ///   - user: the client's user id, if the kernel tells.
    package init(
        _ service: Service, _ control: any ServerControl, connection: String = "con_", user: Int? = nil
    ) {
        owner = MonitorOwner(connection)
        self.service = service
        self.control = control
        quota = service.engine.makeQuota()
        memory = ClientMemory(quota, service.engine)
        inbox = EventQueue(quota: quota)
        share = service.shares.share(of: user, routers: service.routers)
        handles = HandleTable(detached: share.handles, streams: service.streams, user: user)
        routers = RouterTable(shared: share.routers)
    }

    package func inputEnded() {
        ended.store(true, ordering: .relaxed)
        handles.inputEnded()
        inbox.end()
    }

    /// The client will send nothing more.
    var hasEndedInput: Bool { ended.load(ordering: .relaxed) }

    package var owes: Bool { handles.owes }

    package func compute<Value: Sendable>(
        _ work: @escaping @Sendable () throws(RPCError) -> Value
    ) async throws(RPCError) -> Value {
        let result: Result<Value, RPCError>
        do throws(HTTPFailure) {
            result = try await OutriderEngine.compute(for: quota.client) {
                Result { () throws(RPCError) in try work() }
            }
        } catch {
            throw RPCError(error)
        }
        return try result.get()
    }

    /// The caller of the client's callbacks about servers and keys, made once.
    func securityCallbacks(make: () -> any SecurityCallbacks) -> any SecurityCallbacks {
        security.withLock { callbacks in
            if let callbacks { return callbacks }
            let made = make()
            callbacks = made
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
