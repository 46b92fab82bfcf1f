// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP
package import OutriderTransport
import Synchronization

/// Everything that network work shares: the transport with its pool, the settings, the counters, the place for large
/// bodies. One per process, opened by the roof.
package final class Engine: Sendable {
    package let settings: EngineSettings
    let surroundings: Surroundings
    private let fields: HTTPFields
    private let group: any EventLoopGroup
    private let lastClient = Atomic<UInt64>(0)
    /// What stands before the network for requests without a stage of their own; nil for nothing.
    package let stage: ReplayStage?
    /// Cookies that programs share by name.
    package let jars: CookieJars
    /// Files of hosts that are reached over TLS only.
    package let strictTransport = StrictTransportFiles()

    /// - Parameters:
    ///   - fields: what every request gets unless it says otherwise, such as User-Agent.
    package init(
        transport: any Transport, group: any EventLoopGroup, settings: EngineSettings = EngineSettings(),
        fields: HTTPFields = [], stage: ReplayStage? = nil
    ) {
        self.settings = settings
        self.stage = stage
        self.fields = fields
        self.group = group
        jars = CookieJars(root: settings.jars, suffixes: settings.publicSuffixes)
        let executors = LoopExecutors(group)
        surroundings = Surroundings(
            transport: transport,
            workspace: Workspace(in: settings.temporaryDirectory), counters: EngineCounters(), executors: executors,
            paths: NetworkPathMonitor(executors),
            credentials: CredentialBroker(later: { executors.later(seconds: $0, $1) }),
            mostAttempts: settings.mostAttempts)
    }

    package var counts: EngineCounts { surroundings.counters.counts }
    package var statistics: EngineStatistics { surroundings.tally.now }
    /// Tokens of OAuth 2, for exchanges and for those who send requests themselves.
    package var credentials: CredentialBroker { surroundings.credentials }
    /// Where it is said what happens.
    package var monitor: Monitor { surroundings.monitor }
    /// Of the loop we are on, for tasks that shall stay on it.
    package var executor: LoopExecutor { surroundings.executors.current }

    /// The limits of one client's kept bodies; everything that the client keeps shares it.
    package func makeQuota() -> BodyQuota {
        BodyQuota(settings.quota, client: ClientKey(lastClient.wrappingAdd(1, ordering: .relaxed).newValue))
    }

    /// Makes an exchange, ready to start. What cannot be built ends with that failure once it is started.
    package func exchange(
        _ spec: RequestSpec, quota: BodyQuota, keepsBody: Bool, observer: (any ExchangeObserver)? = nil,
        advisor: (any ExchangeAdvisor)? = nil, turns: (any TurnKeeper)? = nil, outlet: (any BodyOutlet)? = nil,
        identity: ExchangeIdentity = ExchangeIdentity(), keeper: CredentialKeeper? = nil,
        cookies: ExchangeCookies? = nil, cache: CacheBinding? = nil, stage: ReplayStage? = nil
    ) async -> Exchange {
        let request: Result<Attempt, HTTPFailure>
        do throws(HTTPFailure) {
            request = .success(try await attempt(for: spec, of: quota.client))
        } catch {
            request = .failure(error)
        }
        let exchange = Exchange(
            spec, request, in: surroundings, quota: quota, keepsBody: keepsBody, observer: observer, advisor: advisor,
            turns: turns, outlet: outlet, identity: identity, keeper: keeper, cookies: cookies,
            cache: cache, stage: stage ?? self.stage)
        exchange.tellCreation()
        if let failure = turns?.join(exchange) { exchange.end(with: failure) }
        return exchange
    }

    /// The same at once, for what nobody listens to or asks for later; nil if something about its body must be looked up
    /// before.
    package func exchangeAtOnce(
        _ spec: RequestSpec, quota: BodyQuota, identity: ExchangeIdentity, stage: ReplayStage? = nil
    ) -> Exchange? {
        guard spec.compression == nil, spec.body.isAtHand else { return nil }
        let request = Result { () throws(HTTPFailure) in try built(spec, BodySizes(), quota.client) }
        let exchange = Exchange(
            spec, request, in: surroundings, quota: quota, keepsBody: false, observer: nil, advisor: nil, turns: nil,
            outlet: nil, identity: identity, keeper: nil, stage: stage ?? self.stage)
        exchange.tellCreation()
        return exchange
    }

    /// The use of a cache by requests.
    package func binding(_ store: CacheStore, _ spec: CacheSpec) -> CacheBinding {
        CacheBinding(store, spec, coding: fields.first("Accept-Encoding"), proxies: settings.proxies)
    }

    /// What would be sent.
    package func attempt(for spec: RequestSpec, of client: ClientKey) async throws(HTTPFailure) -> Attempt {
        var spec = spec
        if !spec.body.isAtHand {
            try AttemptBuilder.checkHead(spec)
            spec.body = try spec.body.resolved(home: homeDirectory())
        }
        var attempt = try built(spec, try await BodySizes.of(spec.body, for: client), client)
        if let compression = spec.compression { try await compression.apply(to: &attempt) }
        return attempt
    }

    private func built(_ spec: RequestSpec, _ sizes: BodySizes, _ client: ClientKey) throws(HTTPFailure) -> Attempt {
        var attempt = try AttemptBuilder.build(spec, defaults: fields, fileSize: sizes.file, partSizes: sizes.parts)
        attempt.client = client
        attempt.connectionsPerHost = settings.connectionsPerHost
        if let own = spec.shared?.plan.sessionConnections { attempt.sessionConnections = own }
        return attempt
    }

    /// Writes a form somewhere instead of sending it.
    package func encode(
        _ form: MultipartForm, to destination: FormDestination, quota: BodyQuota
    ) async throws(HTTPFailure) -> EncodedForm {
        try await EncodedForm.make(
            form, destination, BodyStore(quota: quota, workspace: surroundings.workspace))
    }

    /// Waits for a browser that comes back from a login; `arrived` hears, once, of the query that `expects` accepts.
    func listen(
        _ wishes: LoopbackWishes, expects: @escaping @Sendable (String) -> Bool,
        arrived: @escaping @Sendable (String) -> Void
    ) async throws(OAuthFailure) -> LoopbackListener {
        try await LoopbackListener.open(wishes, group: group, expects: expects, arrived: arrived)
    }

    /// Forgets something later: runs short work once after so many seconds. Cancel it when it has lost its purpose.
    package func later(seconds: Double, _ work: @escaping @Sendable () -> Void) -> Postponed {
        surroundings.executors.later(seconds: seconds, work)
    }

    /// How the way to a URL is now, or any way out of this machine without one. Sends nothing.
    package func path(to url: HTTPURL?) -> PathSample { NetworkPath.sample(to: url) }

    /// Reports how that way changes, once it is started.
    ///
    /// - Parameter adjust: adds what is known of the way from elsewhere.
    package func watchPath(
        to url: HTTPURL?, adjust: @escaping @Sendable (PathSample) -> PathSample,
        tell: @escaping @Sendable (PathSample, PathSample) -> Void
    ) -> PathWatch {
        PathWatch(
            surroundings.paths, surroundings.executors, sample: { adjust(NetworkPath.sample(to: url)) }, tell: tell)
    }

    /// Keeps bytes that turn out too long to be handed over at once.
    package func keep(_ bytes: [UInt8], quota: BodyQuota, contentType: String?) async throws(HTTPFailure) -> KeptBody? {
        var sink = BodySink(.stored, maxInline: 0, store: BodyStore(quota: quota, workspace: surroundings.workspace))
        try await sink.keep(ByteBuffer(bytes: bytes))
        guard case .kept(let body) = try await sink.end(keeping: true, contentType: contentType) else { return nil }
        return body
    }

    /// Removes what killed services have left. Blocks.
    package func sweep() { surroundings.workspace.sweep() }

    /// Removes the private files. Exchanges must have ended.
    package func close() {
        surroundings.workspace.remove()
    }
}
