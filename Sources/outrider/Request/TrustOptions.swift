// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON

/// Trust, TLS and where to connect, with the names and meanings of curl's options.
struct TrustOptions: ParsableArguments {
    enum CertificateType: String, ExpressibleByArgument {
        case pem = "PEM"
        case pkcs12 = "P12"

        init?(argument: String) { self.init(rawValue: argument.uppercased()) }
    }

    /// The version of IP.
    enum Family: String, EnumerableFlag {
        case ipv4, ipv6

        static func name(for value: Family) -> NameSpecification {
            [.customShort(value == .ipv4 ? "4" : "6"), .customLong(value.rawValue)]
        }

        static func help(for value: Family) -> ArgumentHelp? {
            value == .ipv4 ? "Connect to IPv4 addresses alone." : "Connect to IPv6 addresses alone."
        }
    }

    @Option(
        name: .long, help: "Trust the roots in this PEM file, in place of the service's.", completion: .file())
    var cacert: String?

    @Option(name: .long, help: "Trust the roots in the PEM files of this directory.", completion: .directory)
    var capath: String?

    @Flag(
        name: [.customShort("k"), .long],
        help: "Accept every certificate of the URL's server: an attacker on the way can read and change everything.")
    var insecure = false

    @Option(
        name: [.customShort("E"), .long],
        help: "The client certificate, FILE or FILE:PASSPHRASE; see --pass-file.", completion: .file())
    var cert: String?

    @Option(name: .customLong("cert-type"), help: "PEM, or P12 for a PKCS#12 file.")
    var certType = CertificateType.pem

    @Option(
        name: .long, help: "The key of the client certificate. Default: in the file of --cert.", completion: .file())
    var key: String?

    @Option(name: .long, help: "The passphrase of the key, which other users may see for a moment: see --pass-file.")
    var pass: String?

    @Option(name: .customLong("pass-file"), help: "The passphrase is the first line of this file.", completion: .file())
    var passFile: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        help: "Trust the server only with a key of this list on its path: sha256//…;sha256//…, or a file with a key.")
    var pinned: String?

    @Option(
        name: .customLong("crlfile"), help: "Refuse certificates that this revocation list names.", completion: .file())
    var crlFile: String?

    @Flag(name: .customLong("tlsv1.2"), help: "TLS 1.2 or later, which is the default.")
    var least12 = false

    @Flag(name: .customLong("tlsv1.3"), help: "TLS 1.3 or later.")
    var least13 = false

    @Option(name: .customLong("tls-max"), help: "The newest version of TLS: 1.2 or 1.3.")
    var most: String?

    @Option(name: .long, help: "Cipher suites of TLS 1.2, with colons: names of OpenSSL; or modern, or compatible.")
    var ciphers: String?

    @Option(
        name: .long, help: "Connect to ADDRESS for HOST:PORT: HOST:PORT:ADDRESS; * for every host. May be repeated.")
    var resolve: [String] = []

    @Option(
        name: .customLong("connect-to"),
        help: "Connect to another place: HOST1:PORT1:HOST2:PORT2; each part may be empty. May be repeated.")
    var connectTo: [String] = []

    // as with curl, the last one counts
    @Flag(exclusivity: .chooseLast) var family: Family?

    func validate() throws {
        if let most, most != "1.2", most != "1.3" { throw ValidationError("--tls-max must be 1.2 or 1.3") }
        if least13, most == "1.2" { throw ValidationError("--tlsv1.3 and --tls-max 1.2 exclude each other") }
        if pass != nil, passFile != nil { throw ValidationError("give only one of --pass and --pass-file") }
        if cert == nil, key != nil || pass != nil || passFile != nil {
            throw ValidationError("--key, --pass and --pass-file go with --cert FILE")
        }
        if insecure, pinned != nil || crlFile != nil || cacert != nil || capath != nil {
            throw ValidationError(
                "--insecure accepts every certificate: leave out --cacert, --capath, --pinnedpubkey, --crlfile")
        }
        for text in resolve where Redirection(resolving: text) == nil {
            throw ValidationError("--resolve \(text) must be HOST:PORT:ADDRESS, with a port from 1 to 65535")
        }
        for text in connectTo where Redirection(connecting: text) == nil {
            throw ValidationError("--connect-to \(text) must be HOST1:PORT1:HOST2:PORT2, with ports from 1 to 65535")
        }
    }

    /// Puts `trust`, `addresses` and `tls` into the params of a request.
    func add(to params: inout JSONObject) throws(CommandFailure) {
        if let trust = try trust() { params["trust"] = trust }
        if let family { params["addresses"] = .string(family.rawValue) }
        var tls = JSONObject()
        var roots = JSONObject()
        if let cacert { roots["file"] = .string(Self.full(cacert)) }
        if let capath { roots["directory"] = .string(Self.full(capath)) }
        if !roots.isEmpty { tls["roots"] = .object(roots) }
        if let identity = try identity() { tls["identity"] = .object(identity) }
        if least13 { tls["minVersion"] = .string("1.3") }
        if let most { tls["maxVersion"] = .string(most) }
        if let ciphers {
            let isWord = ciphers == "modern" || ciphers == "compatible"
            let names = ciphers.split(whereSeparator: { $0 == ":" || $0 == "," }).map { JSONValue.string(String($0)) }
            tls["ciphers"] = isWord ? .string(ciphers) : .array(names)
        }
        if !tls.isEmpty { params["tls"] = .object(tls) }
    }

    /// Puts `connectTo` into the params of a request for a URL.
    func redirect(_ params: inout JSONObject) {
        guard !resolve.isEmpty || !connectTo.isEmpty, let text = params["url"]?.string,
            let url = try? HTTPURL(parsing: text), url.socketPath == nil
        else { return }
        if let rule = rules.first(where: { $0.covers(url) }) { params["connectTo"] = .string(rule.target(of: url)) }
    }

    /// `connectTo` of a session, which leads redirects to other origins, too. There the most specific pattern counts, and
    /// here the first rule.
    var places: JSONObject {
        var places: JSONObject = [:]
        var earlier: [Redirection] = []
        for rule in rules where !earlier.contains(where: { $0.covers(rule) }) {
            for one in earlier where one.port == nil && rule.isOfAllHosts {
                // *:PORT is more specific than a name
                let pattern = one.pattern(for: rule.port)
                if let place = one.place, places[pattern] == nil { places[pattern] = .string(place) }
            }
            if let place = rule.place { places[rule.pattern(for: rule.port)] = .string(place) }
            earlier.append(rule)
        }
        return places
    }

    private var rules: [Redirection] {
        // the first of `--connect-to` counts, and the last of `--resolve`, as with curl
        connectTo.compactMap(Redirection.init(connecting:))
            + resolve.reversed().compactMap(Redirection.init(resolving:))
    }

    private func trust() throws(CommandFailure) -> JSONValue? {
        if insecure { return .string("none") }
        var policies: [JSONValue] = []
        if let pinned {
            policies.append(
                .object(["publicKeys": .object(["pins": .array(try Self.pins(pinned).map { .string($0) })])]))
        }
        if let crlFile {
            let revocation: JSONObject = ["crlFiles": .array([.string(Self.full(crlFile))]), "required": .bool(true)]
            policies.append(.object(["revocation": .object(revocation)]))
        }
        if policies.count < 2 { return policies.first }
        return .object(["all": .array(policies)])
    }

    private static func pins(_ text: String) throws(CommandFailure) -> [String] {
        if text.hasPrefix("sha256//") || text.hasPrefix("sha256/") {
            return text.split(separator: ";").map(String.init)
        }
        let bytes = try StandardInput.bytes(of: text)
        if bytes.first == DERScanner.sequence { return [PublicKeyPin(ofKey: bytes).description] }
        return [String(decoding: bytes, as: UTF8.self)]
    }

    private func identity() throws(CommandFailure) -> JSONObject? {
        guard let cert else { return nil }
        var (file, passphrase) = (cert, pass)
        // curl takes a passphrase behind the name
        if pass == nil, passFile == nil, access(cert, F_OK) != 0, let colon = cert.lastIndex(of: ":") {
            (file, passphrase) = (String(cert[..<colon]), String(cert[cert.index(after: colon)...]))
        }
        if let passFile {
            let text = try StandardInput.text(of: passFile)
            passphrase = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        }
        var identity = JSONObject()
        switch certType {
        case .pkcs12: identity["pkcs12"] = .string(Self.full(file))
        case .pem:
            identity["certificate"] = .string(Self.full(file))
            if let key { identity["key"] = .string(Self.full(key)) }
        }
        if let passphrase { identity["passphrase"] = .string(passphrase) }
        return identity
    }

    /// The service has another working directory.
    private static func full(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return String(cString: directory) + "/" + path
    }
}

/// A word of `--resolve` or `--connect-to`.
private struct Redirection {
    private let host: String
    let port: Int?
    private let toHost: String
    private let toPort: String

    /// `HOST:PORT:ADDRESS[,ADDRESS]`, perhaps with a `+` in front.
    init?(resolving text: String) {
        let parts = Self.parts(text.hasPrefix("+") ? String(text.dropFirst()) : text, most: 3)
        guard parts.count == 3, let port = Int(parts[1]), !parts[0].isEmpty, !parts[2].isEmpty else { return nil }
        (host, self.port) = (parts[0].lowercased(), port)
        (toHost, toPort) = (parts[2].split(separator: ",").first.map(String.init) ?? "", "")
        if !isValid { return nil }
    }

    /// `HOST1:PORT1:HOST2:PORT2`.
    init?(connecting text: String) {
        let parts = Self.parts(text, most: 4)
        guard parts.count == 4, parts[1].isEmpty || Int(parts[1]) != nil, parts[3].isEmpty || Int(parts[3]) != nil
        else {
            return nil
        }
        (host, port) = (parts[0].lowercased(), Int(parts[1]))
        (toHost, toPort) = (parts[2], parts[3])
        if !isValid { return nil }
    }

    /// Splits at colons, except for colons in brackets, which belong to an address.
    private static func parts(_ text: String, most: Int) -> [String] {
        var parts = [""]
        var depth = 0
        for letter in text {
            if letter == "[" { depth += 1 }
            if letter == "]" { depth -= 1 }
            if letter == ":", depth == 0, parts.count < most {
                parts.append("")
            } else {
                parts[parts.count - 1].append(letter)
            }
        }
        return parts
    }

    func covers(_ url: HTTPURL) -> Bool {
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isNamed = name.isEmpty || name == "*" || name == url.hostName || name == url.host
        return isNamed && (port == nil || port == url.port)
    }

    /// Whether the rule is for all URLs of another, too.
    func covers(_ other: Redirection) -> Bool {
        let isNamed = isOfAllHosts || HostPattern.host(host) == HostPattern.host(other.host)
        return isNamed && (port == nil || port == other.port)
    }

    var isOfAllHosts: Bool { host.isEmpty || host == "*" }

    /// Whether the service takes pattern and target.
    private var isValid: Bool {
        (isOfAllHosts || !host.contains("*")) && HostPattern(pattern(for: port)) != nil
            && place.map { ConnectTarget($0) != nil } != false
    }

    /// A `HostPattern` for the URLs of the rule with this port; nil for all ports.
    func pattern(for port: Int?) -> String { (isOfAllHosts ? "*" : host) + (port.map { ":\($0)" } ?? "") }

    /// The target, without a port where that of the URL stays; nil if all stays for every URL.
    var place: String? {
        if !toPort.isEmpty { return "\(toName):\(toPort)" }
        if !toName.isEmpty { return toName }
        return isOfAllHosts ? port.map { ":\($0)" } : host
    }

    func target(of url: HTTPURL) -> String { "\(toName):\(toPort.isEmpty ? String(url.port) : toPort)" }

    private var toName: String { !toHost.hasPrefix("[") && toHost.contains(":") ? "[\(toHost)]" : toHost }
}
