// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Which version of HTTP a request is to be sent with.
package enum HTTPVersionChoice: Sendable, Hashable {
    /// HTTP/2 where an https server agrees by ALPN (RFC 7301), HTTP/1.1 otherwise. The default.
    case auto
    case http11
    /// HTTP/2 only: by ALPN on https, with prior knowledge on http (RFC 9113 section 3.3).
    case http2
}
