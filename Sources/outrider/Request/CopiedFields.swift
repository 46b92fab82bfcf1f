// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The fields of a request that another program has sent: browsers and debugging proxies copy all fields, also those of
/// their own connection.
enum CopiedFields {
    /// Names of fields that the service writes itself, in lower case.
    private static let written: Set = [
        "connection", "content-length", "keep-alive", "proxy-connection", "te", "transfer-encoding",
    ]

    /// The fields without those of a connection, and without a Host that the URLs name as well.
    ///
    /// - Parameters:
    ///   - fields: as `-H` takes them.
    ///   - urls: perhaps without a scheme.
    static func sendable(_ fields: [String], to urls: [String]) -> [String] {
        fields.filter { field in
            let name = field.prefix { $0 != ":" && $0 != ";" }.lowercased()
            if written.contains(name) { return false }
            guard name == "host" else { return true }
            let value = field.dropFirst(name.count + 1).filter { !$0.isWhitespace }
            return !urls.allSatisfy { isHost(value, of: $0) }
        }
    }

    private static func isHost(_ value: String, of word: String) -> Bool {
        let url = ShellURL.complete(word).lowercased()
        let port = url.hasPrefix("https:") ? ":443" : ":80"
        let host = String(ShellURL.afterScheme(url).prefix { !"/?#".contains($0) })
        return without(port, value.lowercased()) == without(port, host)
    }

    private static func without(_ port: String, _ host: String) -> String {
        host.hasSuffix(port) ? String(host.dropLast(port.count)) : host
    }
}
