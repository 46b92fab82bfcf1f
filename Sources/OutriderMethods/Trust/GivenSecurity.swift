// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The `trust` and `tls` of a session, as `session.get` returns what the client gave.
enum GivenSecurity {
    /// Members that hold lists. A client may write an empty list as `{}`, and an empty object as `[]`.
    private static let lists: Set<String> = ["all", "ciphers", "crlFiles", "files", "groups", "methods", "pem", "pins"]

    /// The value in the form of the contract: no null members and no `_meta`, which count as absent, and `***` for
    /// passphrases.
    ///
    /// - Parameter name: of the member that holds the value; nil for the whole, and for elements of lists.
    static func shown(_ json: JSONValue, in name: String? = nil) -> JSONValue {
        let isList = name.map { lists.contains($0) } ?? false
        switch json {
        case .object(let object) where !(object.isEmpty && isList):
            var shown = JSONObject()
            for member in object.members where member.value != .null && member.name != "_meta" {
                let isSecret = member.name == "passphrase"
                let value: JSONValue = isSecret ? .string(SecretFields.mask) : Self.shown(member.value, in: member.name)
                shown.members.append(JSONObject.Member(member.name, value))
            }
            return .object(shown)
        case .object: return .array([])
        case .array(let values):
            if values.isEmpty, !isList { return .object(JSONObject()) }
            return .array(values.map { name == "groups" ? group($0) : shown($0) })
        default: return json
        }
    }

    /// The name of a group as the contract writes the name: clients may write capitals otherwise.
    private static func group(_ json: JSONValue) -> JSONValue {
        guard let number = json.string.flatMap(TLSNames.group) else { return json }
        return TLSNames.groups.first { $0.number == number }.map { .string($0.name) } ?? json
    }
}
