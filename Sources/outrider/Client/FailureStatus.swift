// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The exit status of a failed exchange, by the family of its code (protocol section 15).
enum FailureStatus {
    /// Nil for a result that is no failed exchange. Its bodies are not read.
    static func of(_ reply: ServiceClient.Reply) -> Int32? {
        guard reply.result != nil, reply.text(of: "ok")?.elementsEqual("false".utf8) == true else { return nil }
        let code = reply.text(of: "error", "code").flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        return of(code: code ?? 0)
    }

    /// The status of failures with files, including the command's own.
    static let file: Int32 = 16
    /// The status of failures of the network.
    static let network: Int32 = 12

    static func of(code: Int64) -> Int32 {
        switch code {
        // unsupportedScheme: nothing was sent, the request itself is at fault
        case 1413: 10
        case 1100..<1300: 10
        case 1300..<1400: 11
        case 1400..<1500: network
        case 1500..<1600: 13
        case 1600..<1700: 14
        case 1700..<1800: 15
        case 1800..<1900: file
        case 1900..<2000: 17
        case 2000..<2100: 18
        default: 1
        }
    }
}

extension CommandFailure {
    /// That of an exchange: the `error` of its Response, or of its stream.
    init(response error: JSONObject) {
        self.init(
            code: FailureStatus.of(code: error["code"]?.integer ?? 0),
            Self.inShell(error["message"]?.string ?? "the request failed"))
    }

    /// A sentence of the service, with the command or option of a shell in place of methods and parameters.
    static func inShell(_ sentence: String) -> String {
        var sentence = sentence
        for (ofService, ofShell) in wordings { sentence = sentence.replacing(ofService, with: ofShell) }
        return sentence
    }

    private static let wordings: [(String, String)] = [
        ("(oauth.login, oauth.device), or give it one with oauth.set", "with `outrider login NAME`"),
        (
            "it follows from the url; only headers of a request to a local or private address may name another",
            "name that host in the URL, and the place of the server with --connect-to ::ADDRESS:"
        ),
        ("or delete that one first", "or forget that one first with `outrider logout --forget NAME`"),
        ("make it with oauth.create", "make it with `outrider login NAME` (see its --help)"),
        ("log in again (oauth.login)", "log in again with `outrider login NAME`"),
        ("without onlyIfCached (in a shell, --offline)", "without --offline"),
        ("bytes (maxMessage)", "bytes (--max-message)"),
        ("(addresses: ipv4)", "(-4)"), ("(addresses: ipv6)", "(-6)"),
        ("maxBody allows (raise maxBody, or drop it)", "--max-filesize allows"),
        ("which httpVersion asks for", "which --http2-prior-knowledge asks for"),
        ("(use httpVersion \"auto\" or \"1.1\")", "(leave that option out)"),
        ("(use httpVersion \"auto\")", "(leave that option out)"), ("(use httpVersion \"1.1\")", "(use --http1.1)"),
        ("(use httpVersion \"2\")", "(use --http2-prior-knowledge)"),
        ("(leave out httpVersion)", "(leave out --http2-prior-knowledge)"),
        ("(give tls.identity)", "(give --cert FILE and --key FILE)"),
        ("(give passphrase)", "(give --pass-file FILE)"),
        ("tls.roots, --cacert in a shell, or", "--cacert, or"),
        ("trust.publicKeys.pins[", "--pinnedpubkey["),
        ("tls.ciphers[", "--ciphers["),
    ]
}
