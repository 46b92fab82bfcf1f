// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Shows the certificates of a server, whether they are trusted, and their pins.
struct TrustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Shows a server's certificates, whether they are trusted and why not, and their pins.",
        discussion: """
              outrider trust example.org
              outrider trust --cacert own.pem nas.local:8443
              outrider trust --json example.org

            Exit status: 0 the server is trusted; 13 not trusted; 1 to 6 as `outrider call`; 12 there was no handshake.
            """)

    @Argument(help: ArgumentHelp("A host, host:port or https URL.", valueName: "host"))
    var host: String

    @Flag(name: .long, help: "Write the result of trust.evaluate as JSON.")
    var json = false

    @OptionGroup var trust: TrustOptions

    @OptionGroup var service: ServiceOptions

    func run() throws { try show() }

    private func show() throws(CommandFailure) {
        var params = JSONObject()
        params["url"] = .string(host.contains("://") ? host : "https://\(host)/")
        try trust.add(to: &params)
        trust.redirect(&params)
        var service = try service.connect(orPrivate: true)
        let found = try service.client.object("trust.evaluate", params, by: Deadline(after: 60))
        if json {
            try StandardOutput.line(JSONWriter.bytes(of: found))
        } else {
            for line in Self.lines(found) { try StandardOutput.line(line.printable.utf8) }
        }
        guard let error = found["error"]?.object else { return }
        throw CommandFailure(response: error)
    }

    /// The certificates in order, the verdict, and the pins.
    private static func lines(_ found: JSONObject) -> [String] {
        var lines: [String] = []
        for certificate in (found["chain"]?.array ?? []).compactMap(\.object) {
            func text(_ name: String) -> String { certificate[name]?.string ?? "" }
            let names = (certificate["names"]?.array ?? []).compactMap(\.string)
            lines.append(text("subject"))
            lines.append("    issuer  \(text("issuer"))")
            if !names.isEmpty { lines.append("    names   \(names.joined(separator: ", "))") }
            lines.append("    valid   \(text("notBefore")) to \(text("notAfter"))")
            lines.append("    sha256  \(text("sha256"))")
            lines.append("    pin     \(text("spki"))")
        }
        if let tls = found["tls"]?.object {
            let parts = ["version", "cipher", "group", "alpn"].compactMap { tls[$0]?.string }
            lines.append(parts.joined(separator: " "))
        }
        lines.append(found["trusted"] == .bool(true) ? "trusted" : "not trusted")
        return lines
    }
}
