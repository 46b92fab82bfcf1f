// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The choice of proxies: `false` or "none", `true` or "environment", a URL, or
/// `{url, http, https, credential, bypass}`.
struct ProxyParameter: JSONDecodable, Sendable {
    enum Choice: Sendable {
        case rules(ProxyRules)
        /// The proxies in the environment of the service.
        case environment
    }

    var choice: Choice

    /// The most entries; longer lists are refused.
    private static let mostBypasses = 1_000

    init(json: JSONValue) throws(JSONComplaint) {
        switch json {
        case .bool(false), .string("none"): choice = .rules(.direct)
        case .bool(true), .string("environment"): choice = .environment
        case .string(let text):
            let server = try Self.server(text)
            choice = .rules(ProxyRules(http: server, https: server))
        case .object: choice = .rules(try Self.rules(json))
        default:
            guard json.array?.isEmpty == true else {
                throw JSONComplaint(
                    "must be a URL, \"none\", \"environment\", a boolean or an object, not \(json.typeName)")
            }
            choice = .rules(.direct)
        }
    }

    private static func rules(_ json: JSONValue) throws(JSONComplaint) -> ProxyRules {
        var fields = try JSONFields(json)
        let both = try fields.optional("url", as: ServerParameter.self)?.server
        let http = try fields.optional("http", as: ServerParameter.self)?.server
        let https = try fields.optional("https", as: ServerParameter.self)?.server
        let credential = try fields.optional("credential", as: CredentialParameter.self)?.credential
        let bypass = try fields.optional("bypass", as: BypassParameter.self)?.bypass
        try fields.finish()
        if credential != nil, both == nil, http == nil, https == nil {
            // Silence would send the request past the proxy of its session.
            throw JSONComplaint(
                "credential needs a proxy: give url, http or https", at: JSONPointer(member: "credential"))
        }
        return ProxyRules(
            http: try (http ?? both)?.authenticated(by: credential),
            https: try (https ?? both)?.authenticated(by: credential),
            bypass: bypass ?? ProxyBypass())
    }

    fileprivate static func server(_ text: String) throws(JSONComplaint) -> ProxyServer {
        do throws(HTTPFailure) {
            return try ProxyServer(parsing: text)
        } catch {
            throw JSONComplaint("cannot be used: \(error.message)")
        }
    }

    private struct ServerParameter: JSONDecodable {
        var server: ProxyServer

        init(json: JSONValue) throws(JSONComplaint) { server = try ProxyParameter.server(try String(json: json)) }
    }

    private struct BypassParameter: JSONDecodable {
        var bypass = ProxyBypass()

        init(json: JSONValue) throws(JSONComplaint) {
            let list = try [String](json: json)
            if list.count > mostBypasses { throw JSONComplaint("must not hold more than \(mostBypasses)") }
            for (index, text) in list.enumerated() where !bypass.add(text) {
                throw JSONComplaint("must be a host, a domain, an address or a network, perhaps with a port, or \"*\"")
                    .under(index: index)
            }
        }
    }
}

extension ProxyParameter {
    /// Throws `invalidParams` if the environment of the service is invalid.
    func rules(with settings: EngineSettings) throws(RPCError) -> ProxyRules {
        switch choice {
        case .rules(let rules): return rules
        case .environment:
            do throws(HTTPFailure) {
                return try settings.proxyEnvironment.get()
            } catch {
                throw RPCError(error)
            }
        }
    }
}

extension ProxyServer {
    /// The server with the credential, unless its URL has credentials.
    fileprivate func authenticated(by credential: UserCredential?) throws(JSONComplaint) -> ProxyServer {
        guard let credential, self.credential == nil else { return self }
        if let fault = credential.fault(for: kind) {
            throw JSONComplaint(
                "\(fault.member) \(fault.message)", at: JSONPointer(member: fault.member).under(member: "credential"))
        }
        var server = self
        server.credential = credential
        return server
    }
}

/// The same for replies, without passwords.
struct ProxyShape: JSONEncodable {
    private var choice: ProxyParameter.Choice

    init(_ parameter: ProxyParameter?, _ settings: EngineSettings) {
        choice = parameter?.choice ?? .rules(settings.proxies ?? .direct)
    }

    func encode(to writer: inout JSONWriter) {
        switch choice {
        case .environment: writer.value("environment")
        case .rules(let rules) where rules.isDirect: writer.value("none")
        case .rules(let rules):
            writer.object { writer in
                if rules.http == rules.https {
                    writer.member("url", rules.http?.description)
                } else {
                    writer.member("http", rules.http?.description)
                    writer.member("https", rules.https?.description)
                }
                writer.member("bypass", rules.bypass.texts)
            }
        }
    }
}
