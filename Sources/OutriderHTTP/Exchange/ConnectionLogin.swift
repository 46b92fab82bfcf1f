// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The schemes NTLM and Negotiate, which authenticate a connection, while other schemes authenticate a request: the
/// server takes later requests on the same connection for requests of the same user (RFC 4559 section 6).
enum ConnectionLogin {
    /// Base64 of the beginning of the second message of NTLM, which asks for the last.
    private static let secondMessage = "TlRMTVNTUAAC"

    /// Whether the value of Authorization is a step of such a login: `NTLM TlRMTVNTUAAB…`.
    static func isStep(_ value: String) -> Bool {
        let scheme = String(value.prefix { !isBlank($0) })
        return HTTPFields.same(scheme, "NTLM") || HTTPFields.same(scheme, "Negotiate")
    }

    /// Whether the server asks for another step. With any other 401 the user may be known, and refused the resource.
    static func asksForAnotherStep(_ head: ResponseHead) -> Bool {
        guard head.status == 401 else { return false }
        return head.fields.all("WWW-Authenticate").contains { value in
            value.split(whereSeparator: { isBlank($0) || $0 == "," }).contains { $0.hasPrefix(secondMessage) }
        }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
