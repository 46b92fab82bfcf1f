// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// `cookies` of a request: `false` for none, `true` for the session's options, or an object.
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

    /// The request's use of cookies; nil for none.
    ///
    /// - Parameter session: the session's use; nil for a session without cookies.
    static func options(
        _ parameter: RequestCookiesParameter?, _ session: CookieOptions?
    ) -> CookieOptions? {
        guard let parameter else { return session }
        if parameter.isOff { return nil }
        var options = session ?? CookieOptions()
        if let sends = parameter.sends { options.sends = sends }
        if let accept = parameter.accept { options.accept = accept }
        (options.extra, options.site) = (parameter.extra, parameter.site)
        options.isNavigation = parameter.isNavigation
        return session == nil && options.extra.isEmpty ? nil : options
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

extension HTTPURL {
    /// - Parameter member: the parameter that holds the URL.
    init(parameter member: String, _ text: String) throws(JSONComplaint) {
        do throws(HTTPFailure) {
            self = try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint("\(member) must be a URL: \(error.message)", at: JSONPointer(member: member))
        }
    }
}
