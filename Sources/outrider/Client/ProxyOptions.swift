// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderHTTP
import OutriderJSON

/// Which proxy a request of the command line goes through. A service that runs has an environment of its own: that of who
/// calls is read here, as curl reads it.
struct ProxyOptions: ParsableArguments {
    @Option(
        name: [.customShort("x"), .long],
        help: """
            Go through this proxy, such as http://host:3128 or socks5h://host; "" for none. Else $http_proxy, \
            $https_proxy, $all_proxy, where a password of the proxy is better kept: http://user:password@host:3128.
            """)
    var proxy: String?

    @Option(
        name: [.customShort("U"), .customLong("proxy-user")],
        help: "The user of the proxy, NAME:PASSWORD, which other users may see for a moment.")
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: "Hosts, domains and networks to reach without a proxy, with commas; * for all. Else $no_proxy.")
    var bypass: String?

    func validate() throws {
        if let proxyUser {
            let name = proxyUser.halves(at: ":").map { PercentEncoding.decode($0.before.utf8) }
            if name?.contains(UInt8(ascii: ":")) ?? true {
                throw ValidationError("--proxy-user (-U) must be NAME:PASSWORD, with no colon in NAME, not even as %3A")
            }
        }
        guard let proxy, !proxy.isEmpty else { return }
        do throws(HTTPFailure) {
            _ = try ProxyServer(parsing: proxy)
        } catch {
            throw ValidationError("-x: \(error.message)")
        }
    }

    private var environment: ProxyEnvironment {
        var environment = ProxyEnvironment { environmentVariable($0) }
        environment.bypass = bypass ?? environment.bypass
        return environment
    }

    /// Puts `proxy` into the params of a request. Without options and variables, the service's own setting counts.
    func add(to params: inout JSONObject) {
        let environment = environment
        var (http, https) = (environment.text(isSecure: false), environment.text(isSecure: true))
        if let proxy {
            http = proxy.isEmpty ? nil : proxy
            https = http
        }
        var object: JSONObject = [:]
        if let http, http == https {
            object["url"] = .string(http)
        } else {
            if let http { object["http"] = .string(http) }
            if let https { object["https"] = .string(https) }
        }
        if object.isEmpty {
            if proxy != nil || bypass != nil { params["proxy"] = .string("none") }
            return
        }
        if let (name, password) = proxyUser?.halves(at: ":") {
            // curl decodes both
            func decoded(_ text: String) -> JSONValue {
                .string(String(decoding: PercentEncoding.decode(text.utf8), as: UTF8.self))
            }
            object["credential"] = .object(["username": decoded(name), "password": decoded(password)])
        }
        let texts = ProxyBypass(listed: environment.bypass ?? "").texts
        if !texts.isEmpty { object["bypass"] = .array(texts.map { .string($0) }) }
        params["proxy"] = .object(object)
    }

    /// Throws if the variable of the proxy for a URL cannot be used. The service says what is wrong with the URL.
    func check(_ url: String) throws(CommandFailure) {
        guard proxy == nil, let url = try? HTTPURL(parsing: url) else { return }
        do throws(HTTPFailure) {
            try environment.check(url)
        } catch {
            throw CommandFailure(.usage, error.message)
        }
    }
}
