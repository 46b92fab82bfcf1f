// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// Logs in to a credential; with a description creates the credential first.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Logs in with OAuth 2, by a browser or another device.",
        discussion: """
            From nothing to the first call of an API:
              outrider login work --client-id abc --call https://api.example/me

            Make a credential, and log in:
              outrider login work --issuer https://login.example --client-id abc --origin https://api.example
              outrider login tv --device --issuer https://login.example --client-id abc

            Log in again:
              outrider login work

            The address to open goes to standard output, and all else to standard error; --open opens the browser. If \
            the browser is on another machine, use --paste: the browser ends on a page that is not found, whose address \
            you paste here. Tokens are kept by the service, and in your store if the store has a key \
            (`outrider credentials`); on a terminal, the first login offers keys.

            Exit status: 0 logged in; 1 to 6 as `outrider call`; 11 the login did not succeed.
            """)

    @Argument(help: "The credential.")
    var name: String

    @Option(
        name: .customLong("call"),
        help: """
            After the login, make this request and write its body. With --client-id, its origin may have the token, and \
            without --issuer the API says who the authorization server is (RFC 9728).
            """)
    var url: String?

    @Option(name: .long, help: "Create the credential: the authorization server, whose metadata have the endpoints.")
    var issuer: String?

    @Option(name: .customLong("client-id"), help: "With --issuer or --call: the client identifier of this program.")
    var clientID: String?

    @Option(
        name: .customLong("client-secret-file"), help: "With --issuer: a file with the client's secret.",
        completion: .file())
    var clientSecretFile: String?

    @Option(name: .long, help: "The requested scope, separated by spaces.")
    var scope: String?

    @Option(
        name: .long, help: "With --issuer: where the token may be sent, such as https://api.example; may be repeated.")
    var origin: [String] = []

    @Flag(name: .customLong("no-origin"), help: "With --issuer: send the token nowhere; only for `outrider token`.")
    var noOrigin = false

    @Option(name: .long, help: "With --issuer: the resource of the token (RFC 8707); may be repeated.")
    var resource: [String] = []

    @Flag(name: .long, help: "With --issuer: keep the credential only while the service runs.")
    var memory = false

    @Flag(name: .long, help: "Log in on another device.")
    var device = false

    @Flag(name: .long, help: "Open a browser.")
    var open = false

    @Flag(name: .long, help: "Read the address that the browser ends at from standard input.")
    var paste = false

    @Option(name: .long, help: "The redirect URI that the server knows, such as http://localhost:8400/callback.")
    var redirect: String?

    @Option(
        name: .long,
        help: """
            NAME=VALUE, a further parameter that the server wants, such as access_type=offline; may be repeated. With \
            --client-id, later logins have the parameter, too.
            """)
    var parameter: [String] = []

    @Option(name: .long, help: "Seconds to wait; a browser has 300 at most.")
    var timeout: Double = 1800

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if !(timeout > 0 && timeout <= 86400) {
            throw ValidationError("--timeout must be a number of seconds above 0, up to 86400")
        }
        if clientID == nil, issuer != nil { throw ValidationError("--issuer and --client-id go together") }
        if clientID != nil, issuer == nil, url == nil {
            throw ValidationError("--client-id goes with --issuer, or with --call and an API that names its issuer")
        }
        if clientID == nil, clientSecretFile != nil || !origin.isEmpty || noOrigin || !resource.isEmpty || memory {
            throw ValidationError(
                "--client-secret-file, --origin, --no-origin, --resource and --memory go with --issuer")
        }
        if clientSecretFile != nil, issuer == nil {
            throw ValidationError(
                "--client-secret-file needs --issuer: otherwise the API chooses the server that gets the secret")
        }
        if noOrigin, !origin.isEmpty || url != nil {
            throw ValidationError("--no-origin sends the token nowhere: leave out --origin and --call")
        }
        if memory, service.stdio {
            throw ValidationError("--memory keeps it as long as the service runs, which --stdio ends with this command")
        }
        if device, paste || redirect != nil {
            throw ValidationError("--device opens no address: leave out --paste and --redirect")
        }
        if device, clientID == nil, !parameter.isEmpty {
            throw ValidationError("with --device, --parameter goes with --issuer and --client-id")
        }
        for text in parameter where text.halves(at: "=")?.before.isEmpty ?? true {
            throw ValidationError("--parameter must be NAME=VALUE, such as access_type=offline")
        }
        // no parameter may stand there twice (RFC 6749 section 3.1)
        let names = parameter.map { $0.prefix { $0 != "=" } }
        if let name = names.enumerated().first(where: { names.prefix($0.offset).contains($0.element) })?.element {
            throw ValidationError("--parameter \(String(name).printable) is given twice: name each parameter once")
        }
    }

    func run() async throws {
        // before the credential is made
        if !paste, let redirect { _ = try Self.listen(redirect) }
        let origins = try clientID == nil || noOrigin ? [] : LoginOrigins.of(origin, api: url, resources: resource)
        let isKept = clientID == nil || memory ? true : try await KeyOffer.make()
        if !isKept, service.stdio, url != nil {
            throw CommandFailure(
                .usage,
                "without a key the login ends with the service of --stdio, before --call: leave out --stdio, or choose a key "
                    + "with `outrider credentials key`")
        }
        var place = service
        // one of our own would end with this command, and what is kept in its memory with it
        if memory || !isKept, !place.stdio { place.spawn = true }
        var service = try place.connect(orPrivate: true)
        if let clientID {
            let spec = try spec(clientID, origins, onDisk: isKept && !memory, &service.client)
            try create(spec, &service.client)
        }
        let isDevice = try device || grant(&service.client) == "device"
        if isDevice, clientID == nil, paste || redirect != nil || !parameter.isEmpty {
            throw CommandFailure(
                .usage,
                "\(FieldRules.shown(name)) logs in on another device, with its own parameters: leave out --parameter, "
                    + "--paste and --redirect")
        }
        try isDevice ? showDevice(&service.client) : showURL(&service.client)
        let end = try service.client.result(
            "oauth.wait", ["credential": .string(name), "timeout": .real(timeout)], within: timeout + 10)
        if end["pending"] == .bool(true) { throw CommandFailure(.timedOut, "login not completed within \(timeout) s") }
        if let failure = end["error"]?.object {
            throw CommandFailure(
                code: ServiceClient.unauthorized, failure["message"]?.string ?? "the login did not succeed")
        }
        StandardError.line("logged in as \(name)")
        let missing = end["credential"]?.object?["missingScope"]?.array?.compactMap(\.string) ?? []
        if !missing.isEmpty { StandardError.line("the server did not grant: \(missing.joined(separator: " "))") }
        if let url { try request(url, place) }
    }

    /// The first request with the token.
    private func request(_ url: String, _ place: ServiceOptions) throws {
        var call = try RequestCall.plain(url)
        call.auth.oauth = name
        call.service = place
        try call.run(nil)
    }

    /// Standard output holds the address, or the body of the request.
    private func show(_ address: String) throws(CommandFailure) {
        if url != nil { return StandardError.line(address) }
        try StandardOutput.line(address.printable.utf8)
    }

    private func found(_ client: inout ServiceClient) throws(CommandFailure) -> String {
        if let issuer { return issuer }
        let api = ShellURL.complete(url ?? "")
        do throws(CommandFailure) {
            let known = try client.result("oauth.discover", ["resource": .string(api)])
            let issuer = known["issuer"]?.string ?? ""
            StandardError.line("\(api) says: log in at \(issuer)")
            return issuer
        } catch {
            let why = error.message ?? "\(api) names no authorization server"
            throw CommandFailure(code: error.code, "\(why) (name the authorization server with --issuer)")
        }
    }

    private func grant(_ client: inout ServiceClient) throws(CommandFailure) -> String? {
        try client.result("oauth.get", ["credential": .string(name)])["grant"]?.string
    }

    private func spec(
        _ clientID: String, _ origins: [String], onDisk: Bool, _ client: inout ServiceClient
    ) throws(CommandFailure) -> JSONObject {
        var spec: JSONObject = [
            "name": .string(name), "issuer": .string(try found(&client)), "clientId": .string(clientID),
            "grant": .string(device ? "device" : "authorizationCode"),
            "persist": .string(onDisk ? "disk" : "memory"),
        ]
        if let clientSecretFile { spec["clientSecret"] = .string(try SecretFile.read(clientSecretFile)) }
        if let scope { spec["scope"] = .array(Self.words(scope)) }
        if !origins.isEmpty { spec["origins"] = .array(origins.map { .string($0) }) }
        if !resource.isEmpty { spec["resources"] = .array(resource.map { .string($0) }) }
        if !parameter.isEmpty { spec["parameters"] = .object(parameters) }
        return spec
    }

    private var parameters: JSONObject {
        var found = JSONObject()
        for text in parameter {
            if let (name, value) = text.halves(at: "=") { found[name] = .string(value) }
        }
        return found
    }

    /// Creates the credential, in place of a credential of that name whose first login, with a wrong client, never
    /// succeeded.
    private func create(_ spec: JSONObject, _ client: inout ServiceClient) throws(CommandFailure) {
        do throws(CommandFailure) {
            _ = try client.result("oauth.create", spec)
        } catch {
            guard error.reason == "name_taken",
                let known = try? client.result("oauth.get", ["credential": .string(name)]),
                known["issuer"] == spec["issuer"], known["generation"] == .integer(0),
                ["authorizationCode", "device"].contains(known["grant"]?.string),
                ["clientId", "grant", "persist", "resources"].contains(where: { known[$0] != (spec[$0] ?? .array([])) })
            else { throw error }
            _ = try client.result("oauth.delete", ["credential": .string(name)])
            _ = try client.result("oauth.create", spec)
            StandardError.line(
                "outrider: replaced the credential \(FieldRules.shown(name)), which never logged in; a login of that "
                    + "name in another terminal ends")
        }
    }

    private static func words(_ text: String) -> [JSONValue] { text.split(separator: " ").map { .string(String($0)) } }

    private func showURL(_ client: inout ServiceClient) throws(CommandFailure) {
        var params: JSONObject = ["credential": .string(name)]
        if let scope { params["scope"] = .array(Self.words(scope)) }
        if clientID == nil, !parameter.isEmpty { params["parameters"] = .object(parameters) }
        if paste {
            params["redirect"] = .string(redirect ?? "http://127.0.0.1:1/callback")
        } else if let redirect {
            params["listen"] = .object(try Self.listen(redirect))
        }
        let begun = try client.result("oauth.login", params)
        let url = begun["url"]?.string ?? ""
        StandardError.line("Open this address in a browser:")
        try show(url)
        if open, let failure = Browser.open(url) { StandardError.line("outrider: \(failure.message)") }
        guard paste else { return }
        StandardError.line("Then paste the address that it ends at:")
        guard let line = readLine(), !line.isEmpty else {
            throw CommandFailure(.usage, "standard input holds no address")
        }
        _ = try client.result("oauth.callback", ["credential": .string(name), "url": .string(line)])
    }

    /// Of a redirect URI on this machine.
    private static func listen(_ redirect: String) throws(CommandFailure) -> JSONObject {
        let fault = CommandFailure(
            .usage,
            "--redirect must be an address of this machine with a path, such as http://localhost:8400/callback, or go with "
                + "--paste")
        guard redirect.hasPrefix("http://"), let slash = redirect.dropFirst(7).firstIndex(of: "/") else { throw fault }
        let authority = redirect.dropFirst(7)[..<slash]
        // an address of IPv6 stands in brackets
        let host = authority.hasPrefix("[::1]") ? authority.prefix(5) : authority.prefix { $0 != ":" }
        guard ["127.0.0.1", "[::1]", "localhost"].contains(String(host)) else { throw fault }
        var listen: JSONObject = [
            "host": .string(host == "[::1]" ? "::1" : String(host)), "path": .string(String(redirect[slash...])),
        ]
        let rest = authority[host.endIndex...]
        if !rest.isEmpty {
            guard rest.hasPrefix(":"), let port = Int64(rest.dropFirst()) else {
                throw CommandFailure(.usage, "--redirect has no usable port")
            }
            listen["port"] = .integer(port)
        }
        return listen
    }

    private func showDevice(_ client: inout ServiceClient) throws(CommandFailure) {
        var params: JSONObject = ["credential": .string(name)]
        if let scope { params["scope"] = .array(Self.words(scope)) }
        let result = try client.result("oauth.device", params)
        let place = result["verificationUri"]?.string ?? ""
        let whole = result["verificationUriComplete"]?.string
        StandardError.line("On any device, open \(place) and enter the code \(result["userCode"]?.string ?? ""):")
        try show(whole ?? place)
        if open, let failure = Browser.open(whole ?? place) { StandardError.line("outrider: \(failure.message)") }
    }
}

/// Logs out.
struct LogoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revokes the tokens of a credential, and forgets them.",
        discussion: """
              outrider logout work
              outrider logout work --forget

            The tokens are deleted even if the server does not reply; then a message says so, and the exit status is 11.
            """)

    @Argument(help: "The credential.")
    var name: String

    @Flag(name: .long, help: "Forget the credential itself, too.")
    var forget = false

    @OptionGroup var service: ServiceOptions

    func run() throws {
        var service = try service.connect(orPrivate: true)
        let result = try service.client.result("oauth.revoke", ["credential": .string(name)])
        if forget { _ = try service.client.result("oauth.delete", ["credential": .string(name)]) }
        guard let error = result["error"]?.object else { return }
        let why = error["message"]?.string ?? "the server did not revoke them"
        throw CommandFailure(code: ServiceClient.unauthorized, "the tokens are forgotten here, but not revoked: \(why)")
    }
}

/// A short secret in a file.
enum SecretFile {
    /// Without the line feed at its end.
    static func read(_ path: String) throws(CommandFailure) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.usage, "cannot read \(path): \(systemError(errno))") }
        defer { close(file) }
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(file) {
            bytes += piece
            if bytes.count > 65536 { throw CommandFailure(.usage, "\(path) is too long for a secret") }
        }
        while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.usage, "\(path) holds no text")
        }
        return text
    }
}
