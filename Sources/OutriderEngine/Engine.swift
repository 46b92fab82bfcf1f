// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP
package import OutriderTransport
import Synchronization

/// The entrance to the network for the methods of the protocol: one per process.
///
/// Owns the parts that all requests share: the transport with its connections, the settings, the counters, the
/// credentials, and the directory for large bodies. A request is an `Exchange`, made here and started by the caller:
///
/// ```swift
/// let exchange = await engine.exchange(spec, ExchangeSetup(quota: quota, keepsBody: false))
/// exchange.start()
/// _ = await exchange.reached(.finish)
/// let outcome = exchange.takeOutcome()
/// ```
///
/// The outcome holds the response, or the failure; an exchange never throws. `cancel` of the exchange, and the end of
/// its session, end the exchange early. Call `close` once all exchanges have ended.
///
/// Responsible for: making exchanges, and lending shared parts to other code of the service.
/// Not responsible for: the steps of an exchange (`ExchangeDriver`); connections (`ConnectionPool`).
package final class Engine: Sendable {
    package let settings: EngineSettings
    /// The shared parts, as an exchange sees them.
    let environment: ExchangeEnvironment
    /// Fields for every request that does not set them.
    private let fields: HTTPFields
    private let group: any EventLoopGroup
    private let lastClient = Atomic<UInt64>(0)
    /// The memory for large payloads of all clients.
    package let memory: MemoryBudget
    /// The ends of kept bodies and finished requests, `EngineSettings.keepSeconds` after their entry.
    package let expiries: Expiries
    /// The replay stage before the network for requests without a stage of their own; nil for none.
    package let stage: ReplayStage?
    /// Cookies that programs share by name.
    package let jars: CookieJars
    /// Files of hosts that are reached over TLS only.
    package let strictTransport = StrictTransportFiles()

    /// - Parameters:
    ///   - transport: opens connections, and sends attempts.
    ///   - group: the event loops, for listeners and timers.
    ///   - fields: defaults for every request, such as User-Agent.
    ///   - stage: the replay stage for requests without a stage of their own.
    package init(
        transport: any Transport, group: any EventLoopGroup, settings: EngineSettings = EngineSettings(),
        fields: HTTPFields = [], stage: ReplayStage? = nil
    ) {
        self.settings = settings
        memory = MemoryBudget(settings.memory)
        self.stage = stage
        self.fields = fields
        self.group = group
        jars = CookieJars(root: settings.jars, suffixes: settings.publicSuffixes)
        let executors = LoopExecutors(group)
        expiries = Expiries(seconds: settings.keepSeconds, executors)
        let paths = NetworkPathMonitor(executors)
        environment = ExchangeEnvironment(
            transport: transport,
            workspace: Workspace(in: settings.temporaryDirectory), counters: EngineCounters(), executors: executors,
            paths: paths, networkChanges: NetworkChanges(paths),
            credentials: CredentialBroker(later: { executors.later(seconds: $0, $1) }),
            mostAttempts: settings.mostAttempts)
    }

    package var counts: EngineCounts { environment.counters.counts }
    package var statistics: EngineStatistics { environment.tally.now }
    /// Tokens of OAuth 2, for exchanges and for other senders of requests.
    package var credentials: CredentialBroker { environment.credentials }
    /// Receives the events of the engine.
    package var monitor: Monitor { environment.monitor }
    /// The executor of the current loop, for tasks that should stay there.
    package var executor: LoopExecutor { environment.executors.current }

    /// The limits of a client's kept bodies, to be shared by all its bodies.
    package func makeQuota() -> BodyQuota {
        let client = ClientKey(lastClient.wrappingAdd(1, ordering: .relaxed).newValue)
        return BodyQuota(settings.quota, client: client, budget: memory)
    }

    // MARK: exchanges

    /// Makes an exchange, ready to start. Looks up the files of the body first.
    package func exchange(_ spec: RequestSpec, _ setup: consuming ExchangeSetup) async -> Exchange {
        exchange(spec, await request(for: spec, quota: setup.quota), setup)
    }

    /// Makes an exchange, ready to start.
    ///
    /// - Parameter request: the request that was built for `spec`; with a failure, the exchange ends with that failure
    ///   once started.
    package func exchange(
        _ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, _ setup: consuming ExchangeSetup
    ) -> Exchange {
        let stage = setup.stage ?? stage
        let exchange = Exchange(spec, request, in: environment, setup, stage: stage)
        exchange.tellCreation()
        if let failure = exchange.gate?.join(exchange) { exchange.end(with: failure) }
        return exchange
    }

    // MARK: parts of requests

    /// The request to send, or why the request cannot be built. Counts a long body in the client's quota; without room
    /// there, moves the body to a private file.
    package func request(for spec: RequestSpec, quota: BodyQuota) async -> Result<Attempt, HTTPFailure> {
        if let request = requestAtHand(for: spec, quota: quota) { return request }
        do throws(HTTPFailure) {
            var attempt = try await attempt(for: spec, of: quota.client)
            try await hold(&attempt, quota: quota)
            return .success(attempt)
        } catch {
            return .failure(error)
        }
    }

    /// The same without suspension; nil if `request` has to look up files, or to compress or store the body.
    package func requestAtHand(for spec: RequestSpec, quota: BodyQuota) -> Result<Attempt, HTTPFailure>? {
        guard spec.compression == nil, spec.body.isAtHand else { return nil }
        do throws(HTTPFailure) {
            var attempt = try built(spec, BodySizes(), quota.client)
            if attempt.holdsMuch {
                guard let charge = quota.hold(attempt.heldBytes) else { return nil }
                attempt.bodyHolder = charge
            }
            return .success(attempt)
        } catch {
            return .failure(error)
        }
    }

    /// Counts a long body in the budget, or moves the body to a private file.
    package func hold(_ attempt: inout Attempt, quota: BodyQuota) async throws(HTTPFailure) {
        if attempt.holdsMuch { try await attempt.hold(quota, environment.workspace) }
    }

    /// The use of a cache by requests.
    package func binding(_ store: CacheStore, _ spec: CacheSpec) -> CacheBinding {
        CacheBinding(store, spec, coding: fields.first("Accept-Encoding"), proxies: settings.proxies)
    }

    /// The attempt that an exchange would send.
    package func attempt(for spec: RequestSpec, of client: ClientKey) async throws(HTTPFailure) -> Attempt {
        var spec = spec
        if !spec.body.isAtHand {
            try AttemptBuilder.checkHead(spec)
            spec.body = try spec.body.resolved(home: homeDirectory())
        }
        let sizes = try await BodySizes.of(spec.body, for: client)
        var attempt: Attempt
        if case .multipart(let form) = spec.body.content, form.takesLong {
            attempt = try await compute(for: client) { [spec] () throws(HTTPFailure) in
                try self.built(spec, sizes, client)
            }
        } else {
            attempt = try built(spec, sizes, client)
        }
        if let compression = spec.compression { try await compression.apply(to: &attempt) }
        return attempt
    }

    private func built(_ spec: RequestSpec, _ sizes: BodySizes, _ client: ClientKey) throws(HTTPFailure) -> Attempt {
        var attempt = try AttemptBuilder.build(spec, defaults: fields, fileSize: sizes.file, partSizes: sizes.parts)
        attempt.client = client
        attempt.connectionsPerHost = settings.connectionsPerLoop
        if let own = spec.shared?.plan.sessionConnections { attempt.sessionConnections = own }
        return attempt
    }

    /// Encodes a form to a destination in place of sending.
    package func encode(
        _ form: MultipartForm, to destination: FormDestination, quota: BodyQuota
    ) async throws(HTTPFailure) -> EncodedForm {
        try await EncodedForm.make(
            form, destination, BodyStore(quota: quota, workspace: environment.workspace))
    }

    // MARK: logins, timers and the network

    /// Waits for a browser that returns from a login; calls `arrived` once, with the query that `expects` accepts.
    func listen(
        _ options: LoopbackWishes, expects: @escaping @Sendable (String) -> Bool,
        arrived: @escaping @Sendable (String) -> Void
    ) async throws(OAuthFailure) -> LoopbackListener {
        try await LoopbackListener.open(options, group: group, expects: expects, arrived: arrived)
    }

    /// Runs short work once after so many seconds. Cancel the work when no longer needed.
    package func later(seconds: Double, _ work: @escaping @Sendable () -> Void) -> ScheduledWork {
        environment.executors.later(seconds: seconds, work)
    }

    /// The present route to a URL; without a URL, any route out of this machine. Sends no packet.
    package func path(to url: HTTPURL?) -> PathSample { NetworkPath.sample(to: url) }

    /// Reports changes of that route, once started.
    ///
    /// - Parameter adjust: adds other knowledge of the route.
    package func watchPath(
        to url: HTTPURL?, adjust: @escaping @Sendable (PathSample) -> PathSample,
        tell: @escaping @Sendable (PathSample, PathSample) -> Void
    ) -> NetworkPathSubscription {
        NetworkPathSubscription(
            environment.paths, environment.executors, sample: { adjust(NetworkPath.sample(to: url)) }, tell: tell)
    }

    /// Calls back after each change of interfaces or local addresses, until `ignoreNetwork`. Must return quickly.
    package func listenToNetwork(_ changed: @escaping @Sendable () -> Void) -> Int {
        environment.networkChanges.listen(changed)
    }

    /// Ends the calls of `listenToNetwork`.
    package func ignoreNetwork(_ id: Int) { environment.networkChanges.ignore(id) }

    // MARK: large bodies

    /// Keeps bytes that are too long for an inline result.
    package func keep(_ bytes: [UInt8], quota: BodyQuota, contentType: String?) async throws(HTTPFailure) -> KeptBody? {
        var sink = BodySink(.stored, maxInline: 0, store: BodyStore(quota: quota, workspace: environment.workspace))
        try await sink.keep(ByteBuffer(bytes: bytes))
        guard case .kept(let body) = try await sink.end(keeping: true, contentType: contentType) else { return nil }
        return body
    }

    /// Writes bytes to a private file, on another thread; nil if that fails.
    package func spill(_ bytes: [UInt8], quota: BodyQuota, _ done: @escaping @Sendable (SpilledBytes?) -> Void) {
        quota.spill(bytes, in: environment.workspace, done)
    }

    /// Removes the files of killed services. Blocks.
    package func sweep() { environment.workspace.sweep() }

    /// Removes the private files. Exchanges must have ended.
    package func close() {
        environment.workspace.remove()
    }
}
