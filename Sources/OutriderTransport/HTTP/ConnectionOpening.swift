// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Opens a connection for an attempt: name, address, proxy, TLS, parser. Reports the beginning of each phase; the
/// caller sets the deadlines.
///
///     resolve ─▶ connect ──────────────────────────────────────▶ tls ─▶ opened
///                   └──▶ (tls with the proxy) ─▶ proxy ─▶ open ──┘ (https)
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class ConnectionOpening: @unchecked Sendable {
    enum Step {
        /// The client has used its share of the connections: another of its connections must end first.
        case waits
        /// The phase that is beginning: resolve, connect, proxy or tls.
        case began(HTTPFailure.Phase)
        /// A callback to a client begins or ends; the clock stops meanwhile.
        case callbackRuns(Bool)
        case opened(any AttemptConnection)
        /// For a TCP stream or an upgrade: an unused channel.
        case bare(any Channel, ConnectionPlace, DuplexSecurity?)
        case failed(HTTPFailure)
    }

    private let url: HTTPURL
    /// The URL, or the address to connect to instead.
    private let destination: HTTPURL
    private let key: PoolKey
    private let client: ClientKey
    private let holder: PoolHolder
    /// The place in the share of its client, passed on to the connection; and the wait for that place.
    private var place: ConnectionPlace?
    private var placeID: FairQueue.ID?
    private let pool: ConnectionPool
    private let wiring: Wiring
    private let greeting: ProxyGreeting
    /// Nil for HTTP.
    private let duplex: Duplex?
    /// Whether the channel goes to a separate runner instead of the pool.
    private let isBare: Bool
    private var tell: ((Step) -> Void)?
    private var lookup: LookupInterest?
    private var connector: Connector?
    private var channel: (any Channel)?
    /// The target for the proxy, if the name is resolved here.
    private var target: SOCKSMachine.Target?
    /// The channel was kept from an earlier request, and the proxy may have closed it.
    private var isSpare = false
    /// The proxy is passed: later failures are not the proxy's.
    private var isThrough: Bool
    private var isCallbackRunning = false
    /// Other attempts wait for the protocol of the origin, for so long: a server that stalls must not hold all of them.
    private static let sharedPatience = TimeAmount.seconds(1.0)
    private var alarm: Scheduled<Void>?
    /// The pool knows that no other attempt is to wait.
    private var isAlone = false
    /// The generation of trusted roots at the beginning.
    private let generation: Int

    init(_ attempt: Attempt, key: PoolKey, pool: ConnectionPool, wiring: Wiring) {
        url = attempt.url
        destination = key.connectTo?.applied(to: attempt.url) ?? attempt.url
        client = attempt.client
        holder = attempt.holder
        duplex = attempt.duplex
        isBare = attempt.duplex != nil || attempt.upgrade != nil
        self.key = key
        greeting = ProxyGreeting(attempt)
        self.pool = pool
        self.wiring = wiring
        isThrough = key.proxy == nil
        generation = pool.generation(of: key.security)
    }

    func start(_ tell: @escaping (Step) -> Void) {
        pool.loop.assertInEventLoop()
        self.tell = tell
        guard key.addresses.permits(hostOf: destination) else {
            return fail(key.addresses.refusal(of: destination, []))
        }
        placeID = pool.place(for: client) { result in
            self.placeID = nil
            switch result {
            case .success(let place):
                self.place = place
                self.begin()
            case .failure(let failure): self.fail(failure)
            }
        }
        guard placeID != nil else { return }
        isAlone = true
        tell(.waits)
    }

    private func begin() {
        // the attempt was cancelled in the meantime
        guard tell != nil else { return cancel() }
        if key.mayBeShared, !isBare, !isAlone {
            alarm = pool.loop.assumeIsolated().scheduleTask(in: Self.sharedPatience) { self.lasts() }
        }
        guard let proxy = key.proxy?.server else { return findOrigin { self.connect(to: $0) } }
        if key.proxy?.isTunnel == true, greeting.isRepetition, let spare = pool.spares.take(for: key) {
            channel = spare
            isSpare = true
            return askProxy(proxy, on: spare)
        }
        startAnew(proxy)
    }

    private func startAnew(_ proxy: ProxyServer) {
        guard proxy.kind == .socks5, case .name = SOCKSMachine.target(destination) else { return findProxy(proxy) }
        isThrough = true
        findOrigin { addresses in
            self.isThrough = false
            self.target = addresses.lazy.compactMap(\.ipAddress).compactMap(SOCKSMachine.address).first
            self.findProxy(proxy)
        }
    }

    /// The opening takes long: another attempt may open a connection. While a client decides, its reply serves all.
    private func lasts() {
        alarm = nil
        guard tell != nil, !isCallbackRunning, !isAlone else { return }
        isAlone = true
        pool.openingWaits(of: key)
    }

    /// Cancels the opening; no more steps are reported.
    func cancel() {
        pool.loop.assertInEventLoop()
        tell = nil
        alarm?.cancel()
        alarm = nil
        lookup?.end()
        lookup = nil
        connector?.cancel()
        connector = nil
        channel?.close(promise: nil)
        channel = nil
        if let placeID { pool.withdraw(placeID, of: client) }
        placeID = nil
        place?.giveBack()
        place = nil
    }

    private func findProxy(_ proxy: ProxyServer) {
        find(proxy.url) { addresses in
            let policy = self.key.addresses
            guard policy.length != nil else { return self.connect(to: addresses) }
            let permitted = addresses.filter { $0.networkBytes.map(policy.hasVersion) ?? true }
            guard !permitted.isEmpty else {
                return self.fail(policy.refusal(of: proxy.url, addresses.compactMap(\.ipAddress)))
            }
            self.connect(to: permitted)
        }
    }

    /// The addresses of the origin that the attempt may connect to.
    private func findOrigin(_ found: @escaping ([SocketAddress]) -> Void) {
        find(destination) { addresses in
            let policy = self.key.addresses
            guard policy != .any else { return found(addresses) }
            let permitted = addresses.filter {
                $0.networkBytes.map { policy.permits(address: $0) } ?? (policy != .publicOnly)
            }
            guard !permitted.isEmpty else {
                return self.fail(policy.refusal(of: self.destination, addresses.compactMap(\.ipAddress)))
            }
            found(permitted)
        }
    }

    private func find(_ url: HTTPURL, _ found: @escaping ([SocketAddress]) -> Void) {
        do throws(HTTPFailure) {
            if let addresses = try url.knownAddresses() { return found(addresses) }
        } catch {
            return fail(error)
        }
        tell?(.began(.resolve))
        let lookup = LookupInterest()
        self.lookup = lookup
        // a dot at the end keeps the resolver from its list of domains
        wiring.resolver.addresses(of: url.host, port: url.port, for: client, lookup, on: pool.loop).hop(to: pool.loop)
            .assumeIsolated().whenComplete { result in
                switch result {
                case .success(let addresses): if self.tell != nil { found(addresses) }
                case .failure(let error): self.fail(FailureBridge.exchange(error, with: url.host, phase: .resolve))
                }
            }
    }

    private func connect(to addresses: [SocketAddress]) {
        guard let tell else { return }
        tell(.began(.connect))
        let connector = Connector(to: addresses, on: pool.loop, abstract: key.abstractName)
        self.connector = connector
        connector.start { result in
            self.connector = nil
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let failure): self.fail(failure)
            }
        }
    }

    private func connected(_ channel: any Channel) {
        guard tell != nil else { return channel.close(promise: nil) }
        self.channel = channel
        guard let proxy = key.proxy?.server else { return secure(channel) }
        guard proxy.kind == .https else { return askProxy(proxy, on: channel) }
        let alpn = HTTPVersionChoice.http11.alpn
        shakeHands(on: channel, with: proxy.url.hostName, proxy.url.port, key.security.forProxy, alpn) { _ in
            self.askProxy(proxy, on: channel)
        }
    }

    // MARK: the proxy

    private func askProxy(_ proxy: ProxyServer, on channel: any Channel) {
        guard let tell else { return channel.close(promise: nil) }
        guard key.proxy?.isTunnel == true else {
            isThrough = true
            return finish(channel, nil)
        }
        tell(.began(.proxy))
        // the banner of an SSH server may come together with the proxy's reply
        let peerMaySpeakFirst = duplex != nil && !key.isSecure
        let machine: any TunnelMachine =
            proxy.speaksHTTP
            ? ConnectMachine(
                to: destination, userAgent: greeting.userAgent, authorization: greeting.authorization?.value,
                peerMaySpeakFirst: peerMaySpeakFirst)
            : SOCKSMachine(
                to: destination, at: target, credential: key.proxy?.user, peerMaySpeakFirst: peerMaySpeakFirst)
        ProxyHandshake(machine, with: proxy, to: destination).start(on: channel) { outcome in
            switch outcome {
            case .open:
                self.isThrough = true
                self.secure(channel)
            case .refused(let head, let isReusable): self.refused(head, by: proxy, on: channel, isReusable)
            case .failed(let failure):
                // bytes that are no reply may belong to the refusal before
                let mayBeStale = failure.kind == .connectionLost || failure.kind == .malformedResponse
                guard self.isSpare, mayBeStale, self.tell != nil else { return self.fail(failure) }
                self.isSpare = false
                channel.close(promise: nil)
                self.channel = nil
                self.startAnew(proxy)
            }
        }
    }

    /// Reports the proxy's response as a failure, never as a response of the origin.
    private func refused(_ head: ResponseHead, by proxy: ProxyServer, on channel: any Channel, _ isReusable: Bool) {
        isThrough = true
        if isReusable, head.status == 407, tell != nil {
            self.channel = nil
            pool.spares.keep(channel, for: key)
        }
        fail(.refused(head, by: proxy, to: destination, isAuthorized: greeting.authorization != nil))
    }

    // MARK: the origin

    private func secure(_ channel: any Channel) {
        guard key.isSecure else { return finish(channel, nil) }
        let alpn = duplex?.tls.protocols ?? key.version.alpn
        shakeHands(on: channel, with: duplex?.tls.serverName ?? url.hostName, url.port, key.security, alpn) {
            self.finish(channel, $0)
        }
    }

    private func shakeHands(
        on channel: any Channel, with host: String, _ port: Int, _ security: ConnectionSecurity, _ alpn: [String],
        _ done: @escaping (TLSFacts) -> Void
    ) {
        guard let tell else { return channel.close(promise: nil) }
        tell(.began(.tls))
        wiring.tls.handshake(
            on: channel, host: host, port: port, security: security, addresses: key.addresses, alpn: alpn, for: client,
            callbackRuns: { self.callbackRuns($0) }
        ) { result in
            switch result {
            case .success(let facts): done(facts)
            case .failure(let failure): self.fail(failure.asNegotiation(alpn, with: host))
            }
        }
    }

    private func callbackRuns(_ isCallbackRunning: Bool) {
        guard let tell, isCallbackRunning != self.isCallbackRunning else { return }
        self.isCallbackRunning = isCallbackRunning
        tell(.callbackRuns(isCallbackRunning))
    }

    private func finish(_ channel: any Channel, _ tls: TLSFacts?) {
        guard let tell, let place else { return channel.close(promise: nil) }
        if isBare {
            (self.tell, self.channel, self.place) = (nil, nil, nil)
            return tell(.bare(channel, place, tls.map(DuplexSecurity.init)))
        }
        let facts = ConnectionFacts(
            remote: key.socketPath ?? channel.remoteAddress?.plain, tls: tls,
            until: tls.map(key.security.lastUse(of:)) ?? .distantFuture, local: channel.localAddress?.outwardBytes,
            isTunnel: key.proxy?.isTunnel == true, sleeps: pool.addresses.sleeps)
        do {
            guard speaksHTTP2(tls) else {
                if key.version == .http2 { return fail(.notNegotiated(key, url.host, tls?.alpn)) }
                let connection = HTTP1Connection(
                    id: pool.makeID(), key: key, channel: channel, facts: facts, generation: generation, place: place,
                    holder: holder, pool: pool)
                try connection.install()
                pool.watch(connection)
                return opened(connection, capacity: nil)
            }
            let connection = HTTP2Connection(
                id: pool.makeID(), key: key, channel: channel, facts: facts, generation: generation, place: place,
                holder: holder, pool: pool)
            try connection.install()
            opened(connection, capacity: connection.capacity)
        } catch {
            fail(FailureBridge.exchange(error, with: url.host, phase: .connect))
        }
    }

    /// Decided by ALPN under TLS; without TLS only if the request demands HTTP/2 (RFC 9113 section 3.3). A proxy that
    /// forwards plain requests speaks HTTP/1.1.
    private func speaksHTTP2(_ tls: TLSFacts?) -> Bool {
        if key.isSecure { return tls?.alpn == "h2" }
        return key.version == .http2 && key.proxy?.isTunnel != false
    }

    private func opened(_ connection: any AttemptConnection, capacity: Int?) {
        guard let tell else { return }
        self.tell = nil
        alarm?.cancel()
        alarm = nil
        channel = nil
        place = nil
        pool.opened(connection, capacity: capacity)
        tell(.opened(connection))
    }

    private func fail(_ failure: HTTPFailure) {
        callbackRuns(false)
        guard let tell else { return }
        cancel()
        tell(.failed(isThrough ? failure : failure.blamed(on: key.proxy?.server)))
    }
}

extension HTTPFailure {
    /// A proxy refused CONNECT.
    fileprivate static func refused(
        _ head: ResponseHead, by proxy: ProxyServer, to url: HTTPURL, isAuthorized: Bool
    ) -> HTTPFailure {
        let details: [FailureDetail] = [.status(head.status), .headers(head.fields), .proxy(proxy.name)]
        if head.status == 407 {
            let text = "the proxy \(proxy.name) \(demand(of: head, isAuthorized: isAuthorized))"
            return HTTPFailure(.proxyAuthenticationRequired, text, phase: .proxy, details: details)
        }
        let text = "the proxy \(proxy.name) refused a way to \(url.authorityWithPort) with status \(head.status)"
        return HTTPFailure(
            .proxyRefused, text, phase: .proxy, retryable: (502...504).contains(head.status), details: details)
    }

    /// What a proxy wants with status 407.
    private static func demand(of head: ResponseHead, isAuthorized: Bool) -> String {
        let offers = ChallengeScanner.challenges(in: head.fields.texts(ChallengeSource.proxy.challengeField))
        let schemes = offers.prefix(4).map { String($0.scheme.prefix(40)) }
        if !offers.isEmpty, !offers.contains(where: { ["basic", "digest"].contains($0.scheme.lowercased()) }) {
            return "offers only \(schemes.joined(separator: ", ")), which is not supported"
        }
        if isAuthorized { return "does not accept the user and the password" }
        return "requires authentication: give a user and a password in proxy"
    }

    /// The failure as a failure of the proxy, unless the proxy is named already, or the cause is on this machine.
    fileprivate func blamed(on proxy: ProxyServer?) -> HTTPFailure {
        guard let proxy else { return self }
        switch kind {
        case .offline, .explicitlyCancelled, .redirectRefused, .addressRefused, .proxyAuthenticationRequired,
            .proxyRefused, .tooManyOpenFiles, .clientCertificateUnusable:
            return self
        default:
            return HTTPFailure(
                .proxyFailed, "the proxy \(proxy.name) cannot be used: \(message)", phase: phase, retryable: retryable,
                underlying: underlying, details: [.proxy(proxy.name), .cause(self)])
        }
    }
}
