// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Settings that the requests of a session share.
struct SessionSettings: Sendable {
    var spec = SessionSpec()
    var timeout: TimeoutParameter?
    var proxy: ProxyParameter?
    /// The address policy of the session's requests.
    var addresses: AddressWord?
    var httpVersion: HTTPVersionWord?
    /// Trust, TLS and where to connect.
    var security = SessionSecurity()
    /// The plan from these settings, made once; nil for the service's plan.
    var plan: SecurityPlan?
    /// Nil for requests without a cache.
    var cache: CacheChoice?
    /// The callback for redirects.
    var redirectCode: ClientDelegate.Code?
    /// The callback for credentials.
    var challengeCode: ClientDelegate.Code?
    /// The callback for responses before they are stored.
    var cacherCode: ClientDelegate.Code?
    /// The initial credentials.
    var credentials: [ProtectionSpaces.Entry] = []
    /// Nil for a session without cookies.
    var cookies: SessionCookies?
    /// Nil for a session that does not remember Strict-Transport-Security.
    var strictTransport: StrictTransportMemory?
    var interceptor = Interceptor()
    /// The names of the interceptors.
    var shown: [String] = []
}

extension SessionSettings {
    /// Whether requests of the session need a plan of their own.
    fileprivate var plans: Bool {
        spec.connectionsPerHost != nil || !spec.startsImmediately || spec.redirect != nil || redirectCode != nil
            || challengeCode != nil || strictTransport != nil || interceptor.size > 0
    }
}

/// Settings that requests read in place: they are long, and copies are dear.
final class SharedSettings: Sendable {
    let settings: SessionSettings
    /// Whether requests of the session need a plan of their own.
    let plans: Bool

    /// Whether the session has a cache, and its cache no callback.
    let hasPlainCache: Bool
    /// The use of the session's cache by the last request without a choice of its own.
    private let binding = Mutex<CacheBinding?>(nil)

    init(_ settings: SessionSettings) {
        (self.settings, plans) = (settings, settings.plans)
        hasPlainCache = settings.cache.map { $0.code == nil } ?? false
    }

    /// The use of the store as the settings say, made once.
    func binding(of store: CacheStore, _ make: () -> CacheBinding) -> CacheBinding {
        binding.withLock { binding in
            if let binding, binding.store === store { return binding }
            let made = make()
            binding = made
            return made
        }
    }
}

/// A session under its handle: its settings, and its running requests.
final class SessionRecord: Holdable {
    static let kind = HandleKind.session

    let handle: Handle<SessionRecord>
    let label: String?
    /// Whether all clients of the user may use the session, by its name.
    let isShared: Bool
    let session: Session
    let sessionCredentials: SessionCredentials
    /// Stubs and replays for the session's requests.
    let stage = OwnStage()
    /// Used by requests whose cache has no name.
    let cache: OwnCache
    private let contents: Mutex<SharedSettings>
    /// The memory of long settings, as created and as updated last.
    private let charges = Mutex<[any PayloadCharge]>([])
    private let service: Service
    /// The client that made the session.
    private let owner: MonitorOwner

    init(
        _ settings: SessionSettings, _ handle: Handle<SessionRecord>, name: String?, isShared: Bool,
        _ scope: ClientScope
    ) {
        self.handle = handle
        label = name
        self.isShared = isShared
        cache = OwnCache(isShared: isShared)
        service = scope.service
        owner = scope.owner
        session = Session(settings.spec.limits, service.engine)
        sessionCredentials = SessionCredentials(settings.credentials)
        contents = Mutex(SharedSettings(settings))
    }

    /// The session's name, or else its handle.
    var title: String { label ?? handle.name }

    var settings: SessionSettings { shared.settings }

    var shared: SharedSettings { contents.withLock { $0 } }

    /// Counts long settings for as long as the session exists.
    func count(_ message: (any PayloadCharge)?) {
        guard let message else { return }
        charges.withLock { $0 = $0.prefix(1) + [message] }
    }

    /// Sets the settings for requests from now on; limits apply at once.
    ///
    /// - Parameter replacesCredentials: whether to also forget what the session learned with the former credentials.
    func update(_ settings: SessionSettings, replacesCredentials: Bool) {
        if replacesCredentials { sessionCredentials.replace(settings.credentials) }
        contents.withLock { $0 = SharedSettings(settings) }
        session.change(settings.spec.limits)
    }

    /// The session's own limit of connections; nil if none.
    func connections(_ settings: SessionSettings?) -> SessionConnections? {
        settings?.spec.connectionsPerHost.map { limit in
            let number = UInt64(UInt(bitPattern: ObjectIdentifier(self)))  // safe: a pointer has 64 bits
            return SessionConnections(session: number, limit: limit)
        }
    }

    /// True: the end of the client's input must not close the session while its requests may run.
    var isAwaited: Bool { true }

    func close() {
        session.close(HTTPFailure(.sessionDeinitialized, "the session ended with the client that made it"))
        stage.close()
        tell(.sessionClosed, owner)
    }

    /// Tells monitors of an action on the session, with its author.
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
    /// The named session. Throws for an unknown session, and for the default session.
    static func own(_ reference: SessionReference, _ scope: ClientScope) throws(RPCError) -> SessionRecord {
        if let record = try reference.resolved(scope) { return record }
        throw RPCError(
            .notPermitted, "the default session cannot be changed or closed: create one of your own",
            data: ["pointer": .string("/session")])
    }
}
