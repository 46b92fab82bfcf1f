// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// What the requests of a session have in common.
struct SessionSettings: Sendable {
    var spec = SessionSpec()
    var timeout: TimeoutParameter?
    var proxy: ProxyParameter?
    /// To which addresses its requests may connect.
    var addresses: AddressWord?
    var httpVersion: HTTPVersionWord?
    /// Trust, TLS and where to connect.
    var security = SessionSecurity()
    /// What follows from them, made once; nil for what the service says.
    var plan: SecurityPlan?
    /// Nil for requests without a cache.
    var cache: CacheChoice?
    /// Who is asked about redirects.
    var redirectCode: ClientAdvisor.Code?
    /// Who is asked for credentials.
    var challengeCode: ClientAdvisor.Code?
    /// Asked about responses before they are stored.
    var cacherCode: ClientAdvisor.Code?
    /// Those that it is made with.
    var credentials: [ProtectionSpaces.Entry] = []
    /// Nil for a session that keeps and sends none.
    var cookies: SessionCookies?
    /// Nil for a session that remembers no hosts that are reached over TLS only.
    var strictTransport: StrictTransportMemory?
    var interceptor = Interceptor()
    /// What the interceptors are called.
    var shown: [String] = []
}

/// A session under its handle: what its requests have in common, and those that run.
final class SessionRecord: Holdable {
    static let kind = HandleKind.session

    let handle: Handle<SessionRecord>
    let label: String?
    /// Whether every client of the service may use it, by its name.
    let isShared: Bool
    let session: Session
    let keeper: CredentialKeeper
    /// What stands before the network for its requests.
    let stage = OwnStage()
    /// Used by requests whose cache has no name.
    let cache = OwnCache()
    private let contents: Mutex<SessionSettings>
    private let service: Service
    /// Whoever made it.
    private let owner: MonitorOwner

    init(
        _ settings: SessionSettings, _ handle: Handle<SessionRecord>, name: String?, isShared: Bool,
        _ scope: ClientScope
    ) {
        self.handle = handle
        label = name
        self.isShared = isShared
        service = scope.service
        owner = scope.owner
        session = Session(settings.spec.limits, service.engine)
        keeper = CredentialKeeper(settings.credentials)
        contents = Mutex(settings)
    }

    /// What it is called: its name, or its handle.
    var title: String { label ?? handle.name }

    var settings: SessionSettings { contents.withLock { $0 } }

    /// For requests that are made from now on; limits hold at once.
    ///
    /// - Parameter replacesCredentials: and forgets what was learned with them.
    func update(_ settings: SessionSettings, replacesCredentials: Bool) {
        if replacesCredentials { keeper.replace(settings.credentials) }
        contents.withLock { $0 = settings }
        session.change(settings.spec.limits)
    }

    /// Its own limit of connections; nil without one.
    func connections(_ settings: SessionSettings?) -> SessionConnections? {
        settings?.spec.connectionsPerHost.map { limit in
            let number = UInt64(UInt(bitPattern: ObjectIdentifier(self)))  // safe: a pointer has 64 bits
            return SessionConnections(session: number, limit: limit)
        }
    }

    /// Its requests are cancelled by the client's end, if it is theirs; it only lives as long as they may need it.
    var isAwaited: Bool { true }

    func close() {
        session.close(HTTPFailure(.sessionDeinitialized, "the session ended with the client that made it"))
        stage.close()
        tell(.sessionClosed, owner)
    }

    /// What becomes of it by whose doing.
    func tell(_ topic: MonitorTopic, _ owner: MonitorOwner) {
        let subject = MonitorSubject(session: title, owner: owner, isShared: isShared)
        service.monitors.tell(topic, subject) { .handle(handle.name, size: nil) }
    }
}

extension SessionReference {
    /// Nil for the default session. Throws `unknownHandle`.
    func resolved(_ scope: ClientScope) throws(RPCError) -> SessionRecord? {
        if isDefault { return nil }
        if let named: SessionRecord = scope.sessions.find(text) ?? scope.share.sessions.find(text) { return named }
        return try scope.handles.find(Handle(named: text), "session")
    }
}

extension SessionRecord {
    /// Throws where there must be one, and it is not the default one.
    static func own(_ reference: SessionReference, _ scope: ClientScope) throws(RPCError) -> SessionRecord {
        if let record = try reference.resolved(scope) { return record }
        throw RPCError(
            .notPermitted, "the default session cannot be changed or closed: create one of your own",
            data: ["pointer": .string("/session")])
    }

    /// The unfinished requests of a session; of the default one, those of this client that have a handle.
    static func exchanges(_ record: SessionRecord?, _ scope: ClientScope) -> [Exchange] {
        if let record { return record.session.exchanges }
        let records = scope.handles.all(RequestRecord.self).filter { $0.session == nil && $0.exchange.outcome == nil }
        return records.map(\.exchange).sorted { $0.number < $1.number }
    }
}
