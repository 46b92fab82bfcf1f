// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

extension JSONFields {
    /// Reads `username`, `password` and `schemes`, which stand among other members; nil if there is no user.
    mutating func credential(withSchemes: Bool = true) throws(JSONComplaint) -> UserCredential? {
        let username: String? = try optional("username")
        let password: String? = try optional("password")
        let schemes = withSchemes ? try optional("schemes", as: SchemesParameter.self)?.schemes : nil
        guard let username else { return nil }
        let credential = UserCredential(username, password ?? "", schemes: schemes)
        if let fault = credential.fault {
            throw JSONComplaint("\(fault.member) \(fault.message)", at: JSONPointer(member: fault.member))
        }
        return credential
    }
}

/// `{username, password, schemes}`, without other members.
struct CredentialParameter: JSONDecodable {
    var credential: UserCredential

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let credential = try fields.credential()
        try fields.finish()
        self.credential = try JSONFields.need("username", credential)
    }
}

/// The same without `schemes`: the name of the enclosing member tells the scheme.
struct DigestParameter: JSONDecodable {
    var credential: UserCredential

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let password: String? = try fields.optional("password")
        var credential = try fields.credential(withSchemes: false)
        try fields.finish()
        credential?.schemes = [.digest]
        self.credential = try JSONFields.need("username", credential)
        _ = try JSONFields.need("password", password)
    }
}

/// A list of `basic` and `digest`, with at least one element.
private struct SchemesParameter: JSONDecodable {
    var schemes: [UserCredential.Scheme] = []

    init(json: JSONValue) throws(JSONComplaint) {
        for (index, word) in try [String](json: json).enumerated() {
            guard let scheme = UserCredential.Scheme(rawValue: word) else {
                throw JSONComplaint("schemes must hold basic and digest only").under(index: index)
            }
            schemes.append(scheme)
        }
        if schemes.isEmpty { throw JSONComplaint("must hold basic, digest or both") }
    }
}

/// The lifetime of a credential: its request, or the other requests of its session, too.
enum Persistence: String, Sendable, CaseIterable {
    case none, forSession
}

extension JSONFields {
    /// Reads `persistence`; nil if it is absent.
    mutating func persistence() throws(JSONComplaint) -> Persistence? {
        if value("persistence")?.string == "permanent" {
            throw JSONComplaint(
                "permanent needs a place for secrets that outlives the service, and there is none: use forSession, in a"
                    + " shared session if it is to outlive this connection", at: JSONPointer(member: "persistence"))
        }
        return try choice("persistence")
    }
}
