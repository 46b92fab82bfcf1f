// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The schemes NTLM and Negotiate, which authenticate a connection, while other schemes authenticate a request: the
/// server takes later requests on the same connection for requests of the same user (RFC 4559 section 6).
enum ConnectionLogin {
    /// Whether the text is a token of such a scheme, in Authorization or in a challenge: `NTLM TlRMTVNTUAAB…`.
    static func isStep(_ text: some StringProtocol) -> Bool {
        let words = text.split(maxSplits: 1, whereSeparator: isBlank)
        guard words.count == 2, !words[1].allSatisfy(isBlank) else { return false }
        let scheme = String(words[0])
        return HTTPFields.same(scheme, "NTLM") || HTTPFields.same(scheme, "Negotiate")
    }

    /// Whether the server asks for another step. A 401 without a token refuses the user, or what the user asked for.
    static func goesOn(after head: ResponseHead) -> Bool {
        head.status == 401
            && head.fields.all("WWW-Authenticate").contains { $0.split(separator: ",").contains(where: isStep) }
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
