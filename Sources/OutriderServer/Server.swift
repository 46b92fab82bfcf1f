// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Logging
import NIOCore
package import OutriderRPC
import Synchronization

/// The service: listens, opens a connection and a scope for each client, and shuts down cleanly.
///
///     running ──stop──▶ draining ──all replies sent, or grace over──▶ over
///     running ──signal, exit, end of stdio, idle──▶ over
///
/// Everything runs on the event loops of the group; a single loop is enough. A connection, its calls and their work
/// share a loop.
package final class Server<Scope: ConnectionScope>: ServerControl, ConnectionHost, Sendable {
    private struct State {
        var connections: [String: Connection] = [:]
        var places: ClientPlaces
        var listeners: [UnixSocketListener] = []
        var isStdio = false
        /// The service ends with its connection on stdio, whatever else is connected.
        var isForStarter = false
        var stopping = false
        var status: Int32?
        var isEnding: Bool { status != nil || stopping }
        var waiter: CheckedContinuation<Int32, Never>?
        var idleSince = ContinuousClock.now
        /// The number of accepted clients, including clients without a connection yet.
        var accepted = 0
        /// The idle service is about to end, unless a client has come.
        var isLeaving = false
    }

    package let settings: ServerSettings
    private let loops: ServiceLoops
    package let instanceID = RandomName.make("ins_")
    package let startedAt = ContinuousClock.now
    let tally = Counters()
    private let table: MethodTable<Scope>
    private let makeScope: @Sendable (any Peer, any ServerControl) -> Scope
    let logger: Logger
    private let log: ServerLog
    private let state: Mutex<State>
    private let executors: [ObjectIdentifier: ConnectionExecutor]

    package init(
        table: MethodTable<Scope>,
        settings: ServerSettings,
        loops: ServiceLoops,
        log: ServerLog = ServerLog(),
        makeScope: @escaping @Sendable (any Peer, any ServerControl) -> Scope
    ) {
        self.table = table
        self.settings = settings
        let places = ClientPlaces(places: settings.limits.connections, patience: settings.limits.firstMessage.seconds)
        state = Mutex(State(places: places))
        self.loops = loops
        self.makeScope = makeScope
        self.log = log
        logger = log.logger("outrider.server")
        var executors: [ObjectIdentifier: ConnectionExecutor] = [:]
        for loop in loops.group.makeIterator() { executors[ObjectIdentifier(loop)] = ConnectionExecutor(loop) }
        self.executors = executors
    }

    // MARK: run

    /// Serves until the end, and returns the exit status of the process. `ready` runs when clients can connect.
    package func run(
        _ listening: [Listening], ready: @Sendable () -> Void = {}
    ) async throws -> Int32 {
        StandardDescriptors.secure()
        SignalWatcher.ignoreWriteSignals()
        // Before the first client can connect, so that every signal is handled.
        if settings.handlesSignals { SignalWatcher.start { self.over(status: 128 + $0) } }
        do {
            for place in listening { try await start(place) }
        } catch {
            await cleanUp()
            throw error
        }
        startIdleWatch()
        ready()
        let status = await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiter = continuation }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
        await cleanUp()
        log.flush()
        return status
    }

    private func start(_ place: Listening) async throws {
        switch place {
        case .socket(let path):
            try await listen(at: path)
        case .activated(let descriptors):
            for descriptor in descriptors { try await listen(descriptor, nil) }
        case .stdio:
            try await serve(input: 0, output: StandardDescriptors.claimOutput())
        case .starter(let socket):
            state.withLock { $0.isForStarter = true }
            // the name of the socket is no secret: sandboxes of the same user reach it, too
            try await listen(socket, nil, only: getppid())
            // with the uid of the service, so that the starter's other connections find the streams of this one
            try await serve(input: 0, output: StandardDescriptors.claimOutput(), uid: Int(geteuid()))
        case .descriptors(let input, let output):
            try await serve(input: input, output: output)
        }
    }

    private func listen(at path: SocketPath) async throws {
        let file = try SocketFile(path, letsOthersIn: !settings.allowedUsers.isEmpty)
        try await listen(file.descriptor, file)
        SocketWatch.start(file) { Task { await self.lost(file) } }
    }

    /// The socket's path leads elsewhere: recreates the socket or, if another service has taken the path, ends this
    /// service when it is idle.
    private func lost(_ file: SocketFile) async {
        let listener = state.withLock { state -> UnixSocketListener? in
            guard !state.isEnding, !state.isLeaving, !file.isReleased else { return nil }
            return state.listeners.first { $0.isListening(on: file) }
        }
        guard let listener else { return }
        await listener.closeBehindLast()
        listener.remove()
        if await putBack(file) { logger.notice("the socket \(file.path) was removed; it is back") }
    }

    /// Listens again in the place of a file that was removed. False if the service ends instead, at the latest when it
    /// is idle.
    private func putBack(_ file: SocketFile) async -> Bool {
        let isEnding = state.withLock { state in
            state.listeners.removeAll { $0.isListening(on: file) }
            return state.isEnding
        }
        if isEnding { return false }
        do {
            try await listen(at: file.place)
            return !isStopping
        } catch {
            logger.warning(
                "the socket \(file.path) is gone, and cannot be put back: \(error); ending when idle")
            endIdle(after: .milliseconds(500))
            return false
        }
    }

    private func listen(_ descriptor: Int32, _ file: SocketFile?, only process: Int32? = nil) async throws {
        let listener = try await UnixSocketListener.start(
            descriptor, file: file, only: process, loops: loops, framing: settings.framing, host: self)
        let isLate = state.withLock { state in
            if !state.isEnding { state.listeners.append(listener) }
            return state.isEnding
        }
        guard isLate else { return }
        // the end of the service does not close this listener
        listener.remove()
        await listener.close()
    }

    private func serve(input: Int32, output: Int32, uid: Int? = nil) async throws {
        state.withLock { $0.isStdio = true }
        let (_, loop) = loops.enter()
        let wire = StdioWire(input: input, output: output, loop: loop)
        try await loop.submit {
            guard let connection = self.open(wire, loop: loop, transport: .stdio, pid: nil, uid: uid) else { return }
            try wire.start(connection, FrameFeed(connection, framing: self.settings.framing))
        }.get()
    }

    // MARK: connections

    func admits(_ user: UInt32) -> Bool { user == geteuid() || user == 0 || settings.allowedUsers.contains(user) }

    func open(
        _ wire: any Wire, loop: any EventLoop, transport: PeerInfo.Transport, pid: Int?, uid: Int?
    ) -> Connection? {
        let setting = Connection.Setting(
            name: RandomName.make("con_"), transport: transport, limits: settings.limits, pad: settings.pad, pid: pid,
            uid: uid, isOtherUser: uid.map { $0 != Int(geteuid()) && $0 != 0 } ?? false)
        let age = (ContinuousClock.now - startedAt).seconds
        let (entry, silent) = state.withLock { state -> (ClientPlaces.Entry, Connection?) in
            guard !state.isEnding else { return (.refused, nil) }
            let entry = state.places.enter(setting.name, now: age)
            guard case .admittedInstead(let silent) = entry else { return (entry, nil) }
            return (entry, state.connections.removeValue(forKey: silent))
        }
        if entry == .refused { return nil }
        silent?.giveWay()
        let executor = executors[ObjectIdentifier(loop)] ?? ConnectionExecutor(loop)
        let connection = Connection(setting, loop: loop, executor: executor, wire: wire, service: self)
        logger.debug("\(setting.name) connected: \(transport.rawValue)\(pid.map { ", process \($0)" } ?? "")")
        let scope = makeScope(connection, self)
        connection.open(ScopeDispatch(table: table, scope: scope, isOtherUser: setting.isOtherUser))
        state.withLock { $0.connections[setting.name] = connection }
        return connection
    }

    var isStopping: Bool { state.withLock { $0.isEnding } }

    func came() { state.withLock { $0.accepted += 1 } }

    func went() { state.withLock { $0.accepted -= 1 } }

    func spoke(_ connection: Connection) { state.withLock { $0.places.spoke(connection.setting.name) } }

    func closed(_ connection: Connection) {
        log.left(connection)
        logger.debug("\(connection.setting.name) left")
        let done = state.withLock { state in
            state.places.leave(connection.setting.name)
            state.connections[connection.setting.name] = nil
            state.idleSince = .now
            if state.isForStarter, connection.setting.transport == .stdio { return true }
            return state.connections.isEmpty && (state.isStdio || state.stopping)
        }
        if done { over(status: connection.exitStatus.load(ordering: .relaxed)) }
    }

    // MARK: ends

    /// Ends the service; the first status counts.
    private func over(status: Int32) {
        let waiter = state.withLock { state in
            guard state.status == nil else { return CheckedContinuation<Int32, Never>?.none }
            state.status = status
            return state.waiter.take()
        }
        waiter?.resume(returning: status)
    }

    private func cleanUp() async {
        let (listeners, connections) = state.withLock { state in
            if state.status == nil { state.status = 1 }
            return (state.listeners, Array(state.connections.values))
        }
        for listener in listeners { await listener.close() }
        for connection in connections {
            try? await connection.loop.submit {
                connection.gone()
                connection.wire.abort()
            }.get()
        }
        for listener in listeners { listener.remove() }
    }

    package func stop(grace: Duration) {
        logger.notice("stopping, within \(grace.seconds) s")
        let (listeners, connections) = state.withLock { state in
            state.stopping = true
            return (state.listeners, Array(state.connections.values))
        }
        // This task ends soon: closing a listener takes one turn of its loop.
        Task { for listener in listeners { await listener.close() } }
        for connection in connections { connection.drain() }
        if connections.isEmpty { return over(status: 0) }
        let loop = loops.first
        loop.scheduleTask(in: .clamped(grace)) {
            for connection in connections { connection.cancelAll() }
            // the service ends with the last connection; this is for clients that do not read their replies
            loop.scheduleTask(in: .seconds(2)) { self.over(status: 0) }
        }
    }

    package func exit(status: Int32) {
        if state.withLock({ $0.isStdio }) { over(status: status) }
    }

    package func end(withProcess processID: Int) {
        guard state.withLock({ $0.isStdio }), let pid = pid_t(exactly: processID), pid > 0 else { return }
        loops.first.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { task in
            guard kill(pid, 0) != 0, errno == ESRCH else { return }
            task.cancel()
            self.exit(status: 1)
        }
    }

    private func startIdleWatch() {
        guard let limit = settings.idleExit else { return }
        // the program that starts the service needs a moment to connect, whatever the limit
        let first = max(limit, .seconds(1))
        state.withLock { $0.idleSince = ContinuousClock.now + (first - limit) }
        endIdle(after: limit)
    }

    private func endIdle(after limit: Duration) {
        let interval = TimeAmount.clamped(max(min(limit / 2, .seconds(1)), .milliseconds(10)))
        loops.first.scheduleRepeatedTask(initialDelay: interval, delay: interval) { task in
            let leaves = self.state.withLock { state in
                if state.isEnding {
                    task.cancel()
                    return false
                }
                if !self.isIdle(state) { state.idleSince = .now }
                let leaves = !state.isLeaving && ContinuousClock.now - state.idleSince >= limit
                if leaves { state.isLeaving = true }
                return leaves
            }
            if leaves { Task { await self.leave() } }
        }
    }

    /// Whether there is neither work nor a client, including clients on the way to a loop.
    private func isIdle(_ state: State) -> Bool {
        !settings.isBusy() && state.connections.isEmpty && state.accepted == 0
    }

    /// Ends the idle service, or goes on with a client that has come at this very moment.
    private func leave() async {
        let listeners = state.withLock { $0.listeners }
        for listener in listeners { await listener.leave() }
        let isOver = state.withLock { state -> Bool? in
            // a stop or a signal ends the service
            if state.isEnding { return nil }
            let isOver = isIdle(state)
            if !isOver { state.idleSince = .now }
            return isOver
        }
        guard let isOver else { return }
        if isOver { return over(status: 0) }
        for listener in listeners {
            if let file = listener.file { _ = await putBack(file) } else { await listener.acceptClients(true) }
        }
        // after the new listeners are known, so that the next idle end closes them
        state.withLock { $0.isLeaving = false }
    }

    // MARK: ServerControl and ServiceHooks

    package var name: String { settings.name }
    package var version: String { settings.version }
    package var counters: ServerCounters {
        var counters = tally.snapshot
        counters.clientsByLoop = loops.clients
        return counters
    }
    package var limits: [(name: StaticString, value: Int)] { settings.limits.named }

    package func setLog(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting {
        try log.set(setting, for: peer)
    }
}
