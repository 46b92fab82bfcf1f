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
        name: .customLong("noproxy"),
        help: "Hosts, domains and networks to reach without a proxy, with commas; * for all. Else $no_proxy.")
    var bypass: String?

    /// Puts `proxy` into the params of a request. Without options and variables, the service's own setting counts.
    func add(to params: inout JSONObject) {
        var environment = ProxyEnvironment { environmentVariable($0) }
        if let proxy {
            environment.http = nil
            environment.https = nil
            environment.all = proxy.isEmpty ? nil : proxy
        }
        environment.bypass = bypass ?? environment.bypass
        var object: JSONObject = [:]
        for (name, text) in [("url", environment.all), ("http", environment.http), ("https", environment.https)] {
            if let text { object[name] = .string(text) }
        }
        if object.isEmpty {
            if proxy != nil || bypass != nil { params["proxy"] = .string("none") }
            return
        }
        let texts = ProxyBypass(listed: environment.bypass ?? "").texts
        if !texts.isEmpty { object["bypass"] = .array(texts.map { .string($0) }) }
        params["proxy"] = .object(object)
    }
}
