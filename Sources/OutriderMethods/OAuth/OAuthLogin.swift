// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Begins to log in by a browser.
struct OAuthLogin: Method {
    static let name = "oauth.login"

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Nil for a listener of our own.
        var redirect: String?
        var listen: LoopbackWishes
        var options = LoginAttempt.Options()
        /// Whether a browser is to be started.
        var opens: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            let redirect: String? = try fields.optional("redirect", check: Self.faultInRedirect)
            let listen: ListenParameter? = try fields.optional("listen")
            options.scope = try fields.optional("scope", as: ScopeParameter.self)?.words
            options.parameters = try fields.optional("parameters", as: OAuthParametersParameter.self)?.list ?? []
            opens = try fields.optional("open") ?? false
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
            self.redirect = redirect == "loopback" ? nil : redirect
            if self.redirect != nil, listen != nil {
                throw JSONComplaint("listen goes with redirect \"loopback\" only", at: JSONPointer(member: "listen"))
            }
            self.listen = listen?.options ?? LoopbackWishes(path: "/\(OAuthRandom.text(bytes: 16))")
        }

        private static func faultInRedirect(_ text: String) -> String? {
            if text == "loopback" { return nil }
            let isFine = OAuthText.clean(text, most: 2048) == text && text.contains(":") && !text.contains(" ")
            return isFine && !text.contains("#") ? nil : "must be \"loopback\" or an absolute URI without a fragment"
        }
    }

    struct Result: ObjectShape {
        var begun: LoginFlow.Begun
        /// Nil where no browser was wanted; then why it was not started.
        var opening: OAuthFailure??

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("url", begun.url)
            writer.member("redirect", begun.redirect)
            writer.member("state", begun.state)
            writer.member("expiresIn", begun.seconds)
            guard let opening else { return }
            writer.member("opened", opening == nil)
            writer.member("openError", opening.map(OAuthFailureShape.init))
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let credential = try await params.credential.resolved(call)
        let begun = try await mappingFailures { () async throws(OAuthFailure) in
            try await call.scope.service.logins.login(
                credential, params.redirect.map { .given($0) } ?? .loopback(params.listen), params.options,
                random: OAuthRandom.bytes(LoginAttempt.randomBytes), through: call.scope.tokenStage)
        }
        guard params.opens else { return Result(begun: begun) }
        return Result(begun: begun, opening: .some(await background { Browser.open(begun.url) }))
    }
}

/// Where a browser is waited for, by servers that know only certain redirect URIs.
private struct ListenParameter: JSONDecodable {
    var options: LoopbackWishes

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let host: String? = try fields.optional("host") { host in
            LoopbackWishes.hosts.contains(host) ? nil : "must be \"127.0.0.1\", \"::1\" or \"localhost\""
        }
        let port = try fields.integer("port", in: 0...65535)
        let path: String? = try fields.optional("path") { path in
            let isPath =
                path.hasPrefix("/") && path.utf8.count <= 256
                && path.utf8.allSatisfy { byte in
                    (0x21...0x7E).contains(byte) && !"?#%\"<>\\".utf8.contains(byte)
                }
            return isPath ? nil : "must be a path that begins with a slash and needs no escapes"
        }
        try fields.finish()
        options = LoopbackWishes(path: path ?? "/\(OAuthRandom.text(bytes: 16))")
        if let host { options.host = host }
        if let port { options.port = port }
    }
}

/// A random text that cannot be guessed.
enum OAuthRandom {
    static func bytes(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    static func text(bytes count: Int) -> String { Base64.encodeForURL(bytes(count)) }
}
