// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The cookies of a session: its jar, and how requests use the jar unless they say otherwise.
final class SessionCookies: Sendable {
    let jar: SharedJar
    let options: CookieOptions
    private let watch: Int?

    /// - Parameter title: of the session, for events; nil if the client wants none.
    init(_ jar: SharedJar, _ options: CookieOptions, eventsAs title: String?, _ peer: any Peer) {
        self.jar = jar
        self.options = options
        watch = title.map { title in
            let name = jar.name
            return jar.observe { [weak peer] changes in
                let event = Event("event.cookies", CookieEventShape(jar: name, session: title, changes: changes))
                _ = peer?.queue(event, unless: nil)
            }
        }
    }

    deinit { if let watch { jar.unobserve(watch) } }

    var hasEvents: Bool { watch != nil }
}

/// `cookies` of a session: `true` for a jar of its own in memory, a name for a jar on disk, an object, or `false`.
struct SessionCookiesParameter: JSONDecodable, Sendable {
    private var isOff = false
    private var name: String?
    private var options = CookieOptions()
    private var hasEvents = false

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .bool(let isOn): isOff = !isOn
        case .string(let text):
            if let fault = CookieJars.fault(ofName: text) { throw JSONComplaint("the name of a jar \(fault)") }
            name = text
        case .object:
            var fields = try JSONFields(json)
            name = try fields.optional("name") { CookieJars.fault(ofName: $0) }
            options.sends = try fields.optional("send") ?? true
            options.accept = try fields.choice("accept") ?? .all
            hasEvents = try fields.optional("events") ?? false
            try fields.finish()
        default:
            throw JSONComplaint("must be true, false, the name of a jar or an object, not \(json.typeName)")
        }
    }

    /// Opens the jar. Throws `wrongState` and `notPermitted`; nil for no cookies.
    ///
    /// - Parameters:
    ///   - title: of the session, for events.
    ///   - old: what the session has; its jar in memory is kept.
    func made(
        title: String, replacing old: SessionCookies?, _ call: Call<ClientScope>
    ) async throws(RPCError) -> SessionCookies? {
        if isOff { return nil }
        let jar: SharedJar
        if let name {
            jar = try await SharedJar.named(name, call, at: "/cookies")
        } else if let kept = old?.jar, kept.name == nil {
            jar = kept
        } else {
            jar = call.scope.service.engine.jars.make()
        }
        return SessionCookies(jar, options, eventsAs: hasEvents ? title : nil, call.peer)
    }
}

/// `cookies` of a request: `false` for none, `true` as the session has it, or an object.
struct RequestCookiesParameter: JSONDecodable, Sendable {
    private var isOff = false
    private var sends: Bool?
    private var accept: CookieOptions.Accept?
    private var extra: [CookieOptions.Extra] = []
    private var site: HTTPURL?
    private var isNavigation = false

    private static let mostExtra = 100

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let isOn) = json {
            isOff = !isOn
            return
        }
        guard case .object = json else { throw JSONComplaint("must be true, false or an object, not \(json.typeName)") }
        var fields = try JSONFields(json)
        sends = try fields.optional("send")
        accept = try fields.choice("accept")
        let list: [ExtraCookieParameter] =
            try fields.optional("extra") { (list: [ExtraCookieParameter]) in
                list.count > Self.mostExtra ? "must not hold more than \(Self.mostExtra)" : nil
            } ?? []
        extra = list.map(\.extra)
        if let text: String = try fields.optional("site") { site = try HTTPURL(parameter: "site", text) }
        isNavigation = try fields.optional("navigation") ?? false
        try fields.finish()
    }

    /// The cookie step of a request; nil if it has none.
    static func step(
        _ parameter: RequestCookiesParameter?, _ session: SessionCookies?, url: String
    ) -> ExchangeCookies? {
        guard parameter != nil || session != nil else { return nil }
        if parameter?.isOff == true { return nil }
        var options = session?.options ?? CookieOptions()
        if let parameter {
            if let sends = parameter.sends { options.sends = sends }
            if let accept = parameter.accept { options.accept = accept }
            (options.extra, options.site) = (parameter.extra, parameter.site)
            options.isNavigation = parameter.isNavigation
        }
        guard session != nil || !options.extra.isEmpty else { return nil }
        return ExchangeCookies(session?.jar, options, url: url)
    }
}

/// `{name, value}`.
private struct ExtraCookieParameter: JSONDecodable {
    var extra: CookieOptions.Extra

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let name: String? = try fields.optional("name") { (name: String) in
            name.isEmpty || !Self.isPlain(name) || name.contains("=")
                ? "must have characters, and none of =, ; and control characters" : nil
        }
        let value: String? = try fields.optional("value") {
            Self.isPlain($0) ? nil : "must not hold ; or control characters"
        }
        try fields.finish()
        extra = CookieOptions.Extra(name: try JSONFields.need("name", name), value: try JSONFields.need("value", value))
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }
}
