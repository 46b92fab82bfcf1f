// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC
import Synchronization

/// The cookies of a session: its jar, and how requests use the jar unless they say otherwise.
final class SessionCookies: Sendable {
    let jar: SharedJar
    let options: CookieOptions
    private let watch: Int?
    private static let events = Atomic(0)

    /// - Parameter title: of the session, for events; nil if the client wants none.
    init(_ jar: SharedJar, _ options: CookieOptions, eventsAs title: String?, _ peer: any Peer) {
        self.jar = jar
        self.options = options
        watch = title.map { title in
            let name = jar.name
            return jar.observe { [weak peer] changes in
                let event = Event("event.cookies", CookieEventShape(jar: name, session: title, changes: changes))
                // a key of its own: no event stands for the changes of an earlier one
                let next = Self.events.wrappingAdd(1, ordering: .relaxed).newValue
                peer?.offer(event, key: "cookies \(title) \(next)")
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
    private var isSealed = false
    private var suffixes: String?

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .bool(let isOn): isOff = !isOn
        case .string(let text):
            if let fault = CookieJars.fault(ofName: text) { throw JSONComplaint(fault) }
            name = text
        case .object:
            var fields = try JSONFields(json)
            name = try fields.optional("name") { CookieJars.fault(ofName: $0) }
            options.sends = try fields.optional("send") ?? true
            options.accept = try fields.choice("accept") ?? .all
            hasEvents = try fields.optional("events") ?? false
            isSealed = try fields.optional("seal") ?? false
            suffixes = try fields.optional("suffixes") { (path: String) in
                path.hasPrefix("/") ? nil : "must be an absolute path"
            }
            try fields.finish()
            if isSealed, name == nil {
                throw JSONComplaint("seal goes with the name of a jar on disk", at: JSONPointer(member: "seal"))
            }
            if suffixes != nil, name != nil {
                throw JSONComplaint(
                    "suffixes goes with a jar of the session's own: a named jar has those of the service",
                    at: JSONPointer(member: "suffixes"))
            }
        default:
            throw JSONComplaint("must be true, false, the name of a jar or an object, not \(json.typeName)")
        }
    }

    /// Opens the jar. Throws `wrongState` and `notPermitted`; nil for no cookies.
    ///
    /// - Parameters:
    ///   - title: of the session, for events.
    ///   - old: the session's former cookies, whose jar in memory is kept.
    func made(
        title: String, replacing old: SessionCookies?, _ call: Call<ClientScope>
    ) async throws(RPCError) -> SessionCookies? {
        if isOff { return nil }
        let jar: SharedJar
        if let name {
            jar = try await SharedJar.named(name, call, at: "/cookies", isSealed: isSealed)
        } else if let kept = old?.jar, kept.name == nil, suffixes == nil {
            jar = kept
        } else {
            do throws(JarFailure) {
                jar = try await call.scope.service.engine.jars.make(suffixes: suffixes)
                jar.count(in: call.scope.quota)
            } catch {
                throw RPCError(
                    .invalidParams, error.message, data: ["pointer": .string("/cookies/suffixes")])
            }
        }
        return SessionCookies(jar, options, eventsAs: hasEvents ? title : nil, call.peer)
    }
}

extension SessionCookies {
    /// The cookie step of a request; nil without cookies.
    static func step(
        _ parameter: RequestCookiesParameter?, _ session: SessionCookies?, url: String
    ) -> ExchangeCookies? {
        guard parameter != nil || session != nil else { return nil }
        let options = RequestCookiesParameter.options(parameter, session?.options)
        return options.map { ExchangeCookies(session?.jar, $0, url: url) }
    }
}
