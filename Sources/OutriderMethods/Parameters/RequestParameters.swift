// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A RequestSpec of the contract: a request, and the caller's options for events.
struct RequestParameters: LongParams {
    /// The client's members; the engine's settings fill in the rest.
    var spec = RequestSpec(url: "")
    var timeout: TimeoutParameter?
    var events = EventKinds()
    var progress = ProgressOptions()
    /// The request outlives its connection.
    var isDetached = false
    /// The name of the detached request.
    var label: String?
    /// The connection that gave the secrets; nil for the connection that makes the request.
    var giver: MonitorOwner?
    /// Whether the response names the request's handle.
    var showsHandle = true
    var session: SessionReference?
    var interceptors: [InterceptorParameter] = []
    /// The OAuth credential of the request.
    var credential: CredentialName?
    var priority: RequestPriority?
    /// Nil for the session's setting.
    var startsImmediately: Bool?
    /// Nil for the session's setting.
    var proxy: ProxyParameter?
    /// Nil for the session's setting.
    var addresses: AddressWord?
    /// Nil for the session's setting.
    var cookies: RequestCookiesParameter?
    /// Nil for the session's setting.
    var httpVersion: HTTPVersionWord?
    /// Nil for the session's setting.
    var cache: CacheParameter?
    /// The client's callbacks for the request; nil if none.
    var codes: RequestCodes?
    /// Nil for a request whose members are those of the call.
    var places: EndpointPlaces?
    /// Whether `headers` is a list of `{name, value}`.
    private(set) var listsHeaders = false
    private var maxInline: Int?

    private static let longestTag = 65_536

    /// Whether long silence from the server is normal.
    var isQuiet = false
    /// Whether the request has a URL.
    private(set) var hasURL = false
    private var receiver = Receiver.said
    /// Whether the request sends the body to a stream, which the response then names.
    private(set) var namesStream = false

    /// The receiver of the body: the request's choice, or fixed by the method. A fixed receiver allows no members about
    /// storage and shape.
    enum Receiver: Sendable { case said, stream, file }

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        try self.init(&fields)
        try fields.finish()
        try needURL()
    }

    /// Reads a request whose body goes to a stream, with members for the kind of stream.
    init(
        json: JSONValue, stream others: (inout JSONFields) throws(JSONComplaint) -> Void
    ) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        try self.init(&fields, to: .stream)
        try others(&fields)
        try fields.finish()
        try needURL()
    }

    func needURL() throws(JSONComplaint) {
        if !hasURL { throw JSONComplaint("url is required", at: JSONPointer(member: "url")) }
    }

    /// The members of a request among others.
    init(_ fields: inout JSONFields, to receiver: Receiver = .said) throws(JSONComplaint) {
        self.receiver = receiver
        let url: String? = try fields.optional("url")
        hasURL = url != nil
        spec.url = url ?? ""
        switch receiver {
        case .said:
            if let serialize: SerializeParameter = try fields.optional("serialize") { spec.serialize = serialize.spec }
        case .stream: spec.destination = .discard
        case .file: spec.destination = .file
        }
        if let method: String = try fields.optional("method") { spec.method = method }
        if let headers: FieldsParameter = try fields.optional("headers") {
            spec.fields = headers.fields
            listsHeaders = headers.isList
        }
        timeout = try fields.optional("timeout")
        // one way to the end: with several, the compiler copies all parameters
        if fields.hasMore {
            showsHandle = try fields.optional("handles") ?? true
            session = try fields.optional("session")
            cache = try fields.optional("cache")
        }
        if fields.hasMore { try readMore(&fields) }
    }

    /// Reads members that most requests leave out.
    private mutating func readMore(_ fields: inout JSONFields) throws(JSONComplaint) {
        if let query: ValuesParameter = try fields.optional("query") { spec.query = query.object }
        if let body: BodyParameter = try fields.optional("body") { spec.body = body.body }
        try readParameters(&fields)
        try readAuth(&fields)
        if let compress: CompressParameter = try fields.optional("compress") { spec.compression = compress.compression }
        spec.expectsContinue = try fields.optional("expectContinue") ?? false
        if receiver == .said { try readDestination(&fields) }
        try readPlan(&fields)
        spec.options = try ResponseOptions.read(&fields, isStream: receiver == .stream)
        if namesStream { try judgesHeadOnly() }
        if spec.destination == .discard, !isStreamed { try judgesNoBody() }
        if let events: EventKinds = try fields.optional("events") { self.events = events }
        progress = try ProgressOptions(&fields)
        spec.expectedSize = progress.expectedSize
        if let metrics: MetricsParameter = try fields.optional("metrics") {
            (spec.metrics, spec.showsCertificates) = (metrics.isOn, metrics.certificates)
        }
        spec.tag = try fields.optional("tag") { (tag: String) in
            tag.utf8.count > Self.longestTag ? "must not be longer than \(Self.longestTag) bytes" : nil
        }
        if receiver != .stream { try readDetach(&fields) }
        if isDetached, namesStream {
            throw JSONComplaint(
                "a body that goes to a stream ends with the connection that reads it: detach goes with other bodyTo",
                at: JSONPointer(member: "detach"))
        }
        if let interceptors: [InterceptorParameter] = try fields.optional("interceptors") {
            self.interceptors = interceptors
        }
        priority = try fields.choice("priority")
        proxy = try fields.optional("proxy")
        addresses = try fields.choice("addresses")
        cookies = try fields.optional("cookies")
        if let addresses { spec.addresses = addresses.policy }
        httpVersion = try fields.choice("httpVersion")
        if let httpVersion { spec.httpVersion = httpVersion.choice }
        spec.ownSecurity = try SecurityPlan.Own.read(&fields)
        spec.allowGetBody = try fields.optional("allowGetBody") ?? false
        spec.addsDefaultFields = try fields.optional("defaultHeaders") ?? true
        spec.decodesContent = try fields.optional("decode") ?? true
    }

    private mutating func readDetach(_ fields: inout JSONFields) throws(JSONComplaint) {
        isDetached = try fields.optional("detach") ?? false
        label = try fields.optional("name", check: RequestName.fault)
    }

    private mutating func readDestination(_ fields: inout JSONFields) throws(JSONComplaint) {
        if let place: BodyPlace = try fields.choice("bodyTo") {
            spec.destination = place.destination
            namesStream = place == .stream
        }
        maxInline = try fields.integer("maxInline", in: 0...8_388_608)
    }

    /// Reads the members of the plan, which most requests leave out.
    private mutating func readPlan(_ fields: inout JSONFields) throws(JSONComplaint) {
        let redirect: RedirectParameter? = try fields.optional("redirect")
        let retry: RetryParameter? = try fields.optional("retry")
        let disposition: CallbackParameter? = try fields.optional("disposition")
        let challenge: CallbackParameter? = try fields.optional("challenge")
        startsImmediately = try fields.optional("startImmediately")
        guard redirect != nil || retry != nil || disposition != nil || challenge != nil || startsImmediately == false
        else { return }
        var plan = spec.plan
        codes = RequestCodes(
            redirect: redirect?.callback, retry: retry?.callback, disposition: disposition?.spec,
            challenge: challenge?.spec, saysRedirect: redirect != nil, saysRetry: retry != nil)
        plan.judgesHead = disposition != nil
        if let redirect { plan.redirect = redirect.policy }
        if let retry { plan.retriers = retry.retriers }
        plan.startsImmediately = startsImmediately ?? true
        spec.plan = plan
    }

    private mutating func readParameters(_ fields: inout JSONFields) throws(JSONComplaint) {
        let value = fields.value("parameters")
        let encoding: EncodingParameter? = try fields.optional("encoding")
        guard value != nil || encoding != nil else { return }
        do throws(JSONComplaint) {
            let encoding = try encoding?.encoding() ?? .form(FormOptions(), .methodDependent)
            if let value { spec.parameters = ParameterSpec(value, encoding) }
        } catch {
            throw error.under(member: "encoding")
        }
    }

    private mutating func readAuth(_ fields: inout JSONFields) throws(JSONComplaint) {
        guard let auth: AuthParameter = try fields.optional("auth") else { return }
        if spec.fields.contains("Authorization") {
            throw JSONComplaint(
                "auth and an Authorization header say the same: give one", at: JSONPointer(member: "auth"))
        }
        spec.authorization = auth.authorization
        credential = auth.credential
    }

    /// Whether the request is sent and received without events, callbacks of its own and anything that outlives the
    /// request; a session may add callbacks.
    var isUnwatched: Bool {
        spec.options == nil && spec.download == nil && spec.parameters?.encoder == nil && spec.serialize.isPlain
            && codes == nil && events.isEmpty && progress.isEmpty && !isDetached && !isStreamed && receiver == .said
            && spec.ownSecurity?.callsClient != true && startsImmediately != false
    }

    /// Whether the body goes to streams.
    var isStreamed: Bool { namesStream || receiver == .stream }

    /// Sets the defaults of the session, and then of the service, for all absent members. Repeating `complete` has no
    /// effect.
    ///
    /// Throws `invalidParams` if the request needs the proxies of an invalid environment.
    ///
    /// - Parameters:
    ///   - inline: the default of `maxInline`; nil for the service's.
    ///   - timeout: of the session.
    mutating func complete(
        with engine: Engine, inline: Int?, _ timeout: TimeoutParameter? = nil
    ) throws(RPCError) {
        spec.proxies = try proxy?.rules(with: engine.settings) ?? engine.settings.proxies
        spec.timeouts = engine.settings.timeouts
        // large files and streams may take long; the idle timeout still ends both
        if isStreamed || receiver == .file { spec.timeouts.total = Timeouts.streamTotal }
        // a connection may be silent for days
        if spec.duplex != nil { spec.timeouts.idle = Timeouts.streamTotal }
        if isQuiet { (spec.timeouts.firstByte, spec.timeouts.idle) = (Timeouts.quiet, Timeouts.quiet) }
        timeout?.apply(to: &spec.timeouts)
        self.timeout?.apply(to: &spec.timeouts)
        spec.maxInline = maxInline ?? inline ?? engine.settings.maxInline
        spec.security = engine.settings.security
    }
}

extension Call<ClientScope> {
    /// The client's default of `maxInline`, where bytes may follow the reply as they are; nil for the service's.
    var ownInline: Int? {
        let terms = peer.terms
        return takesRaw(terms) ? terms.maxInline : nil
    }
}

/// The addresses that requests may connect to.
enum AddressWord: String, Sendable, CaseIterable {
    case any
    case `public`
    case ipv4
    case ipv6

    var policy: AddressPolicy {
        switch self {
        case .any: .any
        case .public: .publicOnly
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        }
    }
}

/// The client's callbacks for a single request, beside its interceptors.
struct RequestCodes: Sendable {
    var redirect: CallbackSpec?
    var retry: CallbackSpec?
    /// Whether to read the body.
    var disposition: CallbackSpec?
    /// Chooses the file of a download.
    var destination: CallbackSpec?
    /// Provides credentials after a challenge.
    var challenge: CallbackSpec?
    /// Whether the request has redirect options; otherwise the session's apply.
    var saysRedirect: Bool
    /// Whether the request has a retry policy, or none on purpose.
    var saysRetry = false

    /// Whether callbacks are part of the plan.
    var addsToPlan: Bool { redirect != nil || retry != nil || destination != nil || challenge != nil }
}

/// The events that a caller wants: all, none, or some kinds.
struct EventKinds: OptionSet, JSONDecodable {
    var rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    static let state = EventKinds(rawValue: 1)
    static let response = EventKinds(rawValue: 2)
    static let progress = EventKinds(rawValue: 4)
    static let finish = EventKinds(rawValue: 8)
    static let redirect = EventKinds(rawValue: 16)
    static let retry = EventKinds(rawValue: 32)
    static let decision = EventKinds(rawValue: 64)
    /// Events wait for `events.next`, and are not sent.
    static let pulled = EventKinds(rawValue: 128)
    static let all: EventKinds = [.state, .response, .progress, .finish, .redirect, .retry, .decision]

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            self = flag ? .all : []
            return
        }
        if let object = json.object, !object.isEmpty {
            self = try Self.pulled(json)
            return
        }
        guard json.array != nil || json.object?.isEmpty == true else {
            throw JSONComplaint("must be true, false, a list of kinds or {kinds, pull}, not \(json.typeName)")
        }
        self = []
        for (index, word) in try [String](json: json).enumerated() {
            switch word {
            case "state": insert(.state)
            case "response": insert(.response)
            case "progress": insert(.progress)
            case "finish": insert(.finish)
            case "redirect": insert(.redirect)
            case "retry": insert(.retry)
            case "decision": insert(.decision)
            default:
                throw JSONComplaint(
                    "events must hold state, response, redirect, retry, progress, decision and finish only"
                )
                .under(index: index)
            }
        }
    }

    /// `{kinds, pull}`: the object form, for clients that fetch events.
    private static func pulled(_ json: JSONValue) throws(JSONComplaint) -> EventKinds {
        var fields = try JSONFields(json)
        var kinds: EventKinds = .all
        if let wanted = fields.value("kinds") {
            guard wanted.object?.isEmpty != false else {
                throw JSONComplaint("kinds must be true or a list of kinds", at: JSONPointer(member: "kinds"))
            }
            do throws(JSONComplaint) {
                kinds = try EventKinds(json: wanted)
            } catch {
                throw error.under(member: "kinds")
            }
        }
        let pulls: Bool = try fields.optional("pull") ?? true
        try fields.finish()
        return pulls ? kinds.union(.pulled) : kinds
    }
}
