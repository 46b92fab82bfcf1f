// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A client's settings for a session; absent members keep their values.
struct SessionParameters: Sendable {
    private var fields: HTTPFields?
    private var timeout: TimeoutParameter?
    private var connectionsPerHost: Int?
    private var proxy: ProxyParameter?
    private var addresses: AddressWord?
    private var httpVersion: HTTPVersionWord?
    private var cache: CacheParameter?
    private var interceptors: [InterceptorParameter]?
    private var redirect: RedirectParameter?
    private var startsImmediately: Bool?
    private var limits: LimitsParameter?
    private var credentials: [SessionCredentialParameter]?
    private var challenge: CallbackParameter?
    private var cookies: SessionCookiesParameter?
    private var security: SessionSecurity
    private var strictTransport: StrictTransportParameter?

    /// The most credentials; longer lists are refused.
    private static let mostCredentials = 256

    /// Reads the members among others; the caller calls `finish`.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        let headers: FieldsParameter? = try fields.optional("headers")
        self.fields = try headers?.checked("headers")
        timeout = try fields.optional("timeout")
        connectionsPerHost = try fields.integer("connectionsPerHost", in: 1...1000)
        proxy = try fields.optional("proxy")
        addresses = try fields.choice("addresses")
        httpVersion = try fields.choice("httpVersion")
        cache = try fields.optional("cache")
        interceptors = try fields.optional("interceptors")
        redirect = try fields.optional("redirect")
        startsImmediately = try fields.optional("startImmediately")
        limits = try fields.optional("limits")
        credentials = try fields.optional("credentials") { (list: [SessionCredentialParameter]) in
            list.count > Self.mostCredentials ? "must not hold more than \(Self.mostCredentials)" : nil
        }
        challenge = try fields.optional("challenge")
        cookies = try fields.optional("cookies")
        security = try SessionSecurity(&fields)
        strictTransport = try fields.optional("hsts")
    }

    var hasCredentials: Bool { credentials != nil }

    /// Opens the jar that the session names. Throws `wrongState` for a jar that cannot be used.
    func openJar(
        for settings: inout SessionSettings, title: String, _ call: Call<ClientScope>
    ) async throws(RPCError) {
        guard let cookies else { return }
        settings.cookies = try await cookies.made(title: title, replacing: settings.cookies, call)
    }

    /// Opens the memory of hosts that the session names. Throws `invalidParams` for a file that cannot be read.
    func openStrictTransport(
        for settings: inout SessionSettings, _ call: Call<ClientScope>
    ) async throws(RPCError) {
        guard let strictTransport else { return }
        settings.strictTransport = try await strictTransport.memory(replacing: settings.strictTransport, call)
    }

    /// Applies the given members. Throws `unknownHandle` for an interceptor, and `invalidParams` for an interceptor of
    /// a shared session that would send credentials to any origin.
    func apply(to settings: inout SessionSettings, isShared: Bool, _ call: Call<ClientScope>) throws(RPCError) {
        if let fields { settings.spec.fields = fields }
        if let timeout { settings.timeout = timeout }
        if let proxy { settings.proxy = proxy }
        if let addresses { settings.addresses = addresses }
        if let httpVersion { settings.httpVersion = httpVersion }
        if let cache {
            settings.cache = cache.applied(to: nil)
            settings.cacherCode = settings.cache?.code.map {
                ClientDelegate.Code(spec: $0, runner: CallbackRunner(call))
            }
        }
        if let connectionsPerHost { settings.spec.connectionsPerHost = connectionsPerHost }
        if let redirect {
            settings.spec.redirect = redirect.policy
            settings.redirectCode = redirect.callback.map {
                ClientDelegate.Code(spec: $0, runner: CallbackRunner(call))
            }
        }
        if let startsImmediately { settings.spec.startsImmediately = startsImmediately }
        if let limits { settings.spec.limits = limits.limits }
        if let credentials { settings.credentials = credentials.map(\.entry) }
        if let challenge {
            settings.challengeCode = ClientDelegate.Code(
                spec: challenge.spec, runner: CallbackRunner(call), prompt: SharedChallengePrompt())
        }
        if !security.isEmpty {
            settings.security.apply(security)
            settings.plan = settings.security.plan(
                over: call.scope.service.engine.settings.security, call.scope.securityCallbacks(call))
        }
        guard let interceptors else { return }
        let interceptor = try interceptors.resolved(call)
        if isShared, interceptor.trustsEverybody {
            throw RPCError(
                .invalidParams,
                "credentials of a shared session need origins: every client could send them anywhere otherwise",
                data: ["pointer": .string("/interceptors")])
        }
        settings.interceptor = interceptor
        settings.shown = interceptors.map(\.shown)
    }
}

extension InterceptorParameter {
    /// For replies, without secrets: the handle, or the kind of interceptor.
    var shown: String {
        switch self {
        case .handle(let name): name
        case .spec(let spec): spec.kind.rawValue
        }
    }
}

/// `{concurrent, rate, waiting}`.
private struct LimitsParameter: JSONDecodable {
    var limits = AdmissionLimits()

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        limits.concurrent = try fields.integer("concurrent", in: 1...10_000)
        limits.rate = try fields.optional("rate", as: RateParameter.self)?.rate
        if let waiting = try fields.integer("waiting", in: 0...100_000) { limits.waiting = waiting }
        try fields.finish()
    }
}

/// `{requests, seconds}`.
private struct RateParameter: JSONDecodable {
    var rate: AdmissionLimits.Rate

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let requests = try fields.integer("requests", in: 1...1_000_000)
        let seconds = try fields.number("seconds", in: 0.001...86400) ?? 1
        try fields.finish()
        rate = AdmissionLimits.Rate(requests: try JSONFields.need("requests", requests), seconds: seconds)
    }
}
