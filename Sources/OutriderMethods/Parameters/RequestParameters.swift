// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A RequestSpec of the contract: one request, and how its caller wants to hear of it.
struct RequestParameters: JSONDecodable {
    /// As asked for; the engine's settings fill in what was left out.
    var spec = RequestSpec(url: "")
    var timeout: TimeoutParameter?
    var events = EventKinds()
    var progress = ProgressWishes()
    /// Let it outlive its connection.
    var isDetached = false
    /// Its name while it is detached.
    var label: String?
    /// The connection whose secrets it carries, where that is not the one that makes it.
    var giver: MonitorOwner?
    /// Whether the response names the request's handle.
    var showsHandle = true
    var session: SessionReference?
    var interceptors: [InterceptorParameter] = []
    /// Whose token it is sent with.
    var credential: CredentialName?
    var priority: RequestPriority?
    /// Nil for what its session says.
    var startsImmediately: Bool?
    /// Nil for what its session says.
    var proxy: ProxyParameter?
    /// Nil for what its session says.
    var addresses: AddressWord?
    /// Nil for what its session says.
    var cookies: RequestCookiesParameter?
    /// Nil for what its session says.
    var httpVersion: HTTPVersionWord?
    /// Nil for what its session says.
    var cache: CacheParameter?
    /// The client's code that it names; nil for none.
    var codes: RequestCodes?
    private var maxInline: Int?

    /// The server may be silent for long, and is well all the same.
    var isQuiet = false
    /// Whether it says where to.
    private(set) var hasURL = false
    private var receiver = Receiver.said
    /// Whether the request says that the body goes to a stream, which its answer then names.
    private(set) var namesStream = false

    /// What becomes of the body: what the request says, or what its method is for. Then there is nothing to say about where
    /// it is kept, and in what shape.
    enum Receiver: Sendable { case said, stream, file }

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        try self.init(&fields)
        try fields.finish()
        try needURL()
    }

    /// For a request whose body goes to a stream, with members that say to what kind of one.
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
        if let headers: FieldsParameter = try fields.optional("headers") { spec.fields = headers.fields }
        timeout = try fields.optional("timeout")
        if fields.hasMore { try readMore(&fields) }
    }

    /// What most requests say nothing of.
    private mutating func readMore(_ fields: inout JSONFields) throws(JSONComplaint) {
        if let query: ValuesParameter = try fields.optional("query") { spec.query = query.object }
        if let body: BodyParameter = try fields.optional("body") { spec.body = body.body }
        try readParameters(&fields)
        try readAuth(&fields)
        if let compress: CompressParameter = try fields.optional("compress") { spec.compression = compress.compression }
        spec.expectsContinue = try fields.optional("expectContinue") ?? false
        if receiver == .said { try readDestination(&fields) }
        try readPlan(&fields)
        spec.wishes = try ResponseWishes.read(&fields, isStream: receiver == .stream)
        if namesStream { try judgesHeadOnly() }
        if let events: EventKinds = try fields.optional("events") { self.events = events }
        progress = try ProgressWishes(&fields)
        spec.expectedSize = progress.expectedSize
        if let metrics: MetricsParameter = try fields.optional("metrics") {
            (spec.metrics, spec.showsCertificates) = (metrics.isOn, metrics.certificates)
        }
        spec.tag = try fields.optional("tag")
        if receiver != .stream { try readDetach(&fields) }
        if isDetached, namesStream {
            throw JSONComplaint(
                "a body that goes to a stream ends with the connection that reads it: detach goes with other bodyTo",
                at: JSONPointer(member: "detach"))
        }
        showsHandle = try fields.optional("handles") ?? true
        session = try fields.optional("session")
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
        cache = try fields.optional("cache")
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

    /// What is to happen around the sending; most say nothing of it.
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
            challenge: challenge?.spec, saysRedirect: redirect != nil)
        plan.asksAboutHead = disposition != nil
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

    /// Whether it is sent and received, and nothing more: no session, nobody who is asked or told, nothing that outlives it.
    var isPlain: Bool {
        spec.shared == nil && spec.wishes == nil && spec.download == nil && spec.parameters?.encoder == nil
            && spec.serialize.isPlain && session == nil && codes == nil && !adds && events.isEmpty && progress.isEmpty
            && !isDetached && !isStreamed && receiver == .said && cookies == nil
            && cache == nil && spec.ownSecurity?.asks != true
    }

    /// Whether the body goes to streams.
    var isStreamed: Bool { namesStream || receiver == .stream }

    /// With the defaults of the session, and then of the service, for all that was not said.
    ///
    /// Throws `invalidParams` where the environment says something about proxies that makes no sense, and it is asked for.
    func spec(
        with settings: EngineSettings, _ timeout: TimeoutParameter? = nil
    ) throws(RPCError) -> RequestSpec {
        var spec = spec
        spec.proxies = try proxy?.rules(with: settings) ?? settings.proxies
        spec.timeouts = settings.timeouts
        // a large file takes its time, as a stream does; silence still ends both
        if isStreamed || receiver == .file { spec.timeouts.total = Timeouts.streamTotal }
        // a connection may have nothing to say for days
        if spec.duplex != nil { spec.timeouts.idle = Timeouts.streamTotal }
        if isQuiet { (spec.timeouts.firstByte, spec.timeouts.idle) = (Timeouts.quiet, Timeouts.quiet) }
        timeout?.apply(to: &spec.timeouts)
        self.timeout?.apply(to: &spec.timeouts)
        spec.maxInline = maxInline ?? settings.maxInline
        spec.security = settings.security
        return spec
    }
}

/// To which addresses requests may connect.
enum AddressWord: String, Sendable, CaseIterable {
    case any
    case `public`

    var policy: AddressPolicy { self == .any ? .any : .publicOnly }
}

/// The client's code that is asked about one request, beside its interceptors.
struct RequestCodes: Sendable {
    var redirect: CallbackSpec?
    var retry: CallbackSpec?
    /// Whether to read the body.
    var disposition: CallbackSpec?
    /// Where a download goes.
    var destination: CallbackSpec?
    /// Who asks, when a server wants to know.
    var challenge: CallbackSpec?
    /// Whether the request says anything of redirects; otherwise its session does.
    var saysRedirect: Bool
}

/// Which events a caller wants: all, none, or some kinds.
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
    /// They wait for `events.next`, and are not sent.
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

    /// `{kinds, pull}`: the object form, for those who come for their events.
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
