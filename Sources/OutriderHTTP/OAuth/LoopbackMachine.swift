// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The options of the local server for the redirect of a login.
package struct LoopbackWishes: Sendable, Equatable {
    /// As in the redirect URI: "127.0.0.1", "::1", or "localhost" for servers that accept no address. For "localhost"
    /// both addresses are used, since browsers choose either (RFC 8252 sections 7.3 and 8.3).
    package var host = "127.0.0.1"
    /// 0 for any free port.
    package var port = 0
    /// Begins with a slash.
    package var path: String

    package init(path: String) { self.path = path }

    package static let hosts = ["127.0.0.1", "::1", "localhost"]

    /// The addresses to listen on; only the first must be available.
    package var addresses: [String] { host == "localhost" ? ["127.0.0.1", "::1"] : [host] }

    /// The host in the syntax of URLs.
    package var writtenHost: String { host == "::1" ? "[::1]" : host }
}

/// The local HTTP server for the redirect of a login (RFC 8252 section 7.3).
///
/// Any web page can send requests to this server. Only a GET of the expected path, with the expected Host and the state
/// of the login, is accepted, and only once. All other requests get 404 and change nothing, so they cannot end the
/// login.
package struct LoopbackMachine: Sendable {
    /// The outcome of a request.
    package struct Outcome: Sendable, Equatable {
        /// The whole response; the connection closes after it.
        package var bytes: [UInt8]
        /// The query, if the request was the expected redirect.
        package var query: String?
    }

    /// The longest head, in bytes; codes may be long.
    package static let longestHead = 16 << 10

    private let path: String
    private let hosts: [String]
    private var isOver = false

    /// - Parameters:
    ///   - path: begins with a slash.
    ///   - host: as in the redirect URI, without the port.
    package init(path: String, host: String, port: Int) {
        self.path = path
        // browsers omit the default port
        hosts = ["\(host):\(port)"] + (port == 80 ? [host] : [])
    }

    /// Handles a request head, possibly truncated.
    ///
    /// - Parameter isExpected: whether a query has the state of the login.
    package mutating func take(head: [UInt8], isExpected: (String) -> Bool = { _ in true }) -> Outcome {
        guard !isOver, let query = query(head), isExpected(query) else {
            return Outcome(bytes: Self.nothing, query: nil)
        }
        isOver = true
        return Outcome(bytes: Self.page(succeeded: FormText(query).all("code").count == 1), query: query)
    }

    /// The query of a GET for the expected path and Host; nil for all other requests.
    private func query(_ head: [UInt8]) -> String? {
        let text = String(decoding: head, as: UTF8.self)
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let first = lines.first, text.hasSuffix("\r\n\r\n") else { return nil }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        // a control character, such as a bare CR, is no part of a target (RFC 9112 section 2.2)
        guard words.count == 3, words[0] == "GET", words[2] == "HTTP/1.1",
            words[1].utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        let fields = lines.dropFirst().compactMap { HTTPFields.Field(line: String($0)) }
        let named = fields.filter { HTTPFields.same($0.name, "host") }
        guard named.count == 1, hosts.contains(named[0].value.lowercased()) else { return nil }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard target[0] == path else { return nil }
        return target.count == 2 ? String(target[1]) : ""
    }

    // MARK: pages

    private static let nothing = response("404 Not Found", "text/plain; charset=utf-8", "Nothing is here.\n")

    private static func page(succeeded: Bool) -> [UInt8] {
        let (title, text) =
            succeeded
            ? ("Almost there", "Outrider has the response. You can close this window and go back to your program.")
            : ("Not logged in", "The login did not succeed. Your program knows why; you can close this window.")
        return response(
            "200 OK", "text/html; charset=utf-8",
            """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>\(title)</title>
            <body><h1>\(title)</h1><p>\(text)</p></body></html>

            """)
    }

    private static func response(_ status: String, _ type: String, _ body: String) -> [UInt8] {
        Array(
            """
            HTTP/1.1 \(status)\r
            Content-Type: \(type)\r
            Content-Length: \(body.utf8.count)\r
            Cache-Control: no-store\r
            Content-Security-Policy: default-src 'none'\r
            Referrer-Policy: no-referrer\r
            X-Content-Type-Options: nosniff\r
            Connection: close\r
            \r
            \(body)
            """.utf8)
    }
}
