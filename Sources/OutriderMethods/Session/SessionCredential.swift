// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A credential of a session: the user, and the protection space.
struct SessionCredentialParameter: JSONDecodable, Sendable {
    var entry: ProtectionSpaces.Entry

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let text: String? = try fields.optional("url")
        let realm: String? = try fields.optional("realm")
        let credential = try fields.credential()
        let isEarly: Bool = try fields.optional("preemptive") ?? false
        let isProxys: Bool = try fields.optional("proxy") ?? false
        try fields.finish()
        let url = try Self.url(try JSONFields.need("url", text))
        let given = try JSONFields.need("username", credential)
        if isEarly, given.schemes?.contains(.basic) == false {
            throw JSONComplaint(
                "preemptive sends Basic, which schemes leaves out", at: JSONPointer(member: "preemptive"))
        }
        entry = ProtectionSpaces.Entry(
            given, for: url, realm: realm, isEarly: isEarly, source: isProxys ? .proxy : .origin)
    }

    private static func url(_ text: String) throws(JSONComplaint) -> HTTPURL {
        do throws(HTTPFailure) {
            return try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint("url cannot be used: \(error.message)", at: JSONPointer(member: "url"))
        }
    }
}

/// The credential for replies, without the password.
struct SessionCredentialShape: ObjectShape {
    var entry: ProtectionSpaces.Entry

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("url", entry.origin + entry.path)
        writer.member("realm", entry.realm)
        writer.member("username", entry.credential.username)
        writer.member("password", SecretFields.mask)
        if let schemes = entry.credential.schemes { writer.member("schemes", schemes.map(\.rawValue)) }
        writer.member("preemptive", entry.isEarly)
        if entry.source == .proxy { writer.member("proxy", true) }
    }
}
