// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The choice of the proxy for each URL. Shared, immutable.
package final class ProxyRules: Sendable, Equatable {
    /// For http URLs; nil for none.
    package let http: ProxyServer?
    /// For https URLs; nil for none.
    package let https: ProxyServer?
    package let bypass: ProxyBypass

    package init(http: ProxyServer?, https: ProxyServer?, bypass: ProxyBypass = ProxyBypass()) {
        self.http = http
        self.https = https
        self.bypass = bypass
    }

    /// No proxy at all.
    package static let direct = ProxyRules(http: nil, https: nil)

    package var isDirect: Bool { http == nil && https == nil }

    /// The proxy for a URL; nil for a direct connection, as always for Unix sockets. TCP streams use the https proxy,
    /// whose tunnel reaches any port.
    package func server(for url: HTTPURL) -> ProxyServer? {
        guard url.socketPath == nil, let server = url.isSecure || url.isStream ? https : http,
            !bypass.covers(url)
        else { return nil }
        return server
    }

    /// Reads a setting: a proxy's URL, `environment`, or `none`. Nil for `none` and for nil.
    ///
    /// Throws as `ProxyServer` does.
    package static func named(
        _ word: String?, _ environment: (String) -> String?
    ) throws(HTTPFailure) -> ProxyRules? {
        switch word {
        case nil, "none": return nil
        case "environment": return try ProxyEnvironment(environment).rules()
        case let text?:
            let server = try ProxyServer(parsing: text)
            return ProxyRules(http: server, https: server)
        }
    }

    package static func == (one: ProxyRules, other: ProxyRules) -> Bool {
        one === other || (one.http == other.http && one.https == other.https && one.bypass == other.bypass)
    }
}

/// The proxy variables of the environment, as curl reads them.
///
/// Only `http_proxy` in lower case counts: a CGI program finds a request's field `Proxy` in HTTP_PROXY. For the other
/// variables lower case wins. An empty variable counts as absent.
package struct ProxyEnvironment: Sendable, Equatable {
    package var http: String?
    package var https: String?
    /// The proxy for both schemes, where `http` or `https` is nil.
    package var all: String?
    package var bypass: String?

    package init() {}

    /// - Parameter variable: the value of an environment variable, nil if unset.
    package init(_ value: (String) -> String?) {
        func variable(_ name: String) -> String? { value(name).flatMap { $0.isEmpty ? nil : $0 } }
        http = variable("http_proxy")
        https = variable("https_proxy") ?? variable("HTTPS_PROXY")
        all = variable("all_proxy") ?? variable("ALL_PROXY")
        bypass = variable("no_proxy") ?? variable("NO_PROXY")
    }

    /// Throws as `ProxyServer` does, with the name of the variable.
    package func rules() throws(HTTPFailure) -> ProxyRules {
        ProxyRules(
            http: try server(http, "http_proxy"), https: try server(https, "https_proxy"),
            bypass: ProxyBypass(listed: bypass ?? ""))
    }

    /// The proxy of a scheme for a service that does not know this environment; nil for none.
    ///
    /// A variable that cannot be used gives a proxy that does not exist, with the variable in its name: a redirect to
    /// that scheme then fails, and is not followed around the proxy.
    package func text(isSecure: Bool) -> String? {
        let own = isSecure ? https : http
        guard let text = own ?? all else { return nil }
        if (try? ProxyServer(parsing: text)) != nil { return text }
        return "http://\(own == nil ? "all" : isSecure ? "https" : "http")-proxy-cannot-be-used.invalid"
    }

    /// Throws as `ProxyServer` does, with the name of the variable, if the proxy that a URL needs cannot be used.
    package func check(_ url: HTTPURL) throws(HTTPFailure) {
        guard url.socketPath == nil, !ProxyBypass(listed: bypass ?? "").covers(url) else { return }
        let isSecure = url.isSecure || url.isStream
        _ = try server(isSecure ? https : http, isSecure ? "https_proxy" : "http_proxy", in: "the environment")
    }

    private func server(
        _ own: String?, _ name: String, in place: String = "the environment of the service"
    ) throws(HTTPFailure) -> ProxyServer? {
        guard let text = own ?? all else { return nil }
        do throws(HTTPFailure) {
            return try ProxyServer(parsing: text)
        } catch {
            var failure = error
            failure.message = "\(own == nil ? "all_proxy" : name) in \(place): \(error.message)"
            throw failure
        }
    }
}
