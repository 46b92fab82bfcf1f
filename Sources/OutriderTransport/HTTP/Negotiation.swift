// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension HTTPVersionChoice {
    /// The protocols to offer to an https server, the preferred first (RFC 7301).
    var alpn: [String] {
        switch self {
        case .auto: ["h2", "http/1.1"]
        case .http11: ["http/1.1"]
        case .http2: ["h2"]
        }
    }
}

extension HTTPFailure {
    /// The request demands HTTP/2, and the server does not speak HTTP/2.
    static func notNegotiated(_ key: PoolKey, _ host: String, _ alpn: String?) -> HTTPFailure {
        if !key.isSecure, let proxy = key.proxy?.server {
            let text = "the proxy \(proxy.name) forwards plain requests over HTTP/1.1 only (leave out httpVersion)"
            return HTTPFailure(.protocolNotNegotiated, text, phase: .proxy, details: [.proxy(proxy.name)])
        }
        return notNegotiated(host, "chose \(alpn ?? "no protocol")", nil)
    }

    private static func notNegotiated(_ host: String, _ what: String, _ underlying: Underlying?) -> HTTPFailure {
        HTTPFailure(
            .protocolNotNegotiated,
            "\(host) does not speak HTTP/2, which httpVersion asks for: the server \(what) (use httpVersion \"auto\")",
            phase: .tls, underlying: underlying)
    }

    /// The same failure, or `protocolNotNegotiated` if the server accepts none of the offered protocols.
    func asNegotiation(_ alpn: [String], with host: String) -> HTTPFailure {
        guard kind == .tlsHandshakeFailed, alpn == HTTPVersionChoice.http2.alpn,
            underlying?.message.contains("NO_APPLICATION_PROTOCOL") == true
        else { return self }
        return .notNegotiated(host, "refused the handshake", underlying)
    }
}
