// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A cookie in a jar (RFC 6265bis section 5.7).
///
/// Times are microseconds since 1970: fine enough that the cookies of a response differ.
package struct Cookie: Sendable, Equatable {
    package enum SameSite: String, Sendable, CaseIterable {
        case none, lax, strict
    }

    /// The identity of a cookie: a new cookie replaces the old cookie with the same identity.
    package struct Identity: Sendable, Hashable {
        package var domain: String
        package var path: String
        package var name: String
        package var isHostOnly: Bool
        package var partition: String?

        /// Compares bytes: texts of other bytes that Unicode calls equivalent are of other cookies. Equal bytes have
        /// equal hashes, so that the hash of the texts serves.
        package static func == (one: Identity, other: Identity) -> Bool {
            // most texts differ, which `==` finds at once
            func same(_ one: String, _ other: String) -> Bool { one == other && one.utf8.elementsEqual(other.utf8) }
            return one.isHostOnly == other.isHostOnly && (one.partition == nil) == (other.partition == nil)
                && same(one.name, other.name) && same(one.path, other.path) && same(one.domain, other.domain)
                && same(one.partition ?? "", other.partition ?? "")
        }
    }

    /// Never empty.
    package var name: String
    package var value: String
    /// Whether the bytes of name and value are ISO 8859-1, as a server sent them: see `FieldText`.
    package var isLatin1 = false
    /// The host, or the server's Domain: lower case, in punycode, without a dot at either end.
    package var domain: String
    /// The cookie is sent to exactly this host, and to no host below.
    package var isHostOnly = true
    /// Begins with a slash.
    package var path = "/"
    package var isSecure = false
    package var isHTTPOnly = false
    /// Nil if absent or unknown.
    package var sameSite: SameSite?
    /// The top-level site that a Partitioned cookie belongs to; empty if its request named none, nil for other cookies.
    package var partition: String?
    /// Nil for a cookie of the session.
    package var expires: Int64?
    /// Orders the Cookie field; a new value keeps the time of the old cookie.
    package var created: Int64 = 0
    package var used: Int64 = 0

    package init(name: String, value: String, domain: String) {
        self.name = name
        self.value = value
        self.domain = domain
    }

    package var identity: Identity {
        Identity(domain: domain, path: path, name: name, isHostOnly: isHostOnly, partition: partition)
    }

    package func isExpired(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// As in the Cookie field.
    package var pair: String { "\(name)=\(value)" }

    /// The same with the bytes to send.
    package var pairText: FieldText { FieldText(pair, isLatin1: isLatin1) }

    /// Bytes of name and value on the wire.
    package var size: Int { Self.size(name, isLatin1: isLatin1) + Self.size(value, isLatin1: isLatin1) }

    /// Bytes of a text on the wire: in ISO 8859-1, each character is a byte.
    static func size(_ text: String, isLatin1: Bool) -> Int { isLatin1 ? text.unicodeScalars.count : text.utf8.count }

    /// Most bytes of name and value together (RFC 6265bis section 5.6).
    package static let mostBytes = 4096
    /// Most seconds until the expiry: 400 days (RFC 6265bis section 5.5).
    package static let longestLife: Int64 = 400 * 86_400
    package static let second: Int64 = 1_000_000

    /// The time in microseconds; the largest number for times that do not fit.
    package static func time(seconds: Int64) -> Int64 {
        let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: second)
        return isTooLarge ? (seconds < 0 ? .min : .max) : product
    }

    /// The expiry, no later than 400 days from now.
    package static func capped(_ expires: Int64, now: Int64) -> Int64 {
        min(expires, now &+ longestLife &* second)
    }
}

/// A change of a cookie; values are never part of it.
package struct CookieChange: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case added, replaced, deleted, expired, evicted, refused
    }

    package var kind: Kind
    package var name: String
    /// Empty if the cookie was refused before its domain was known.
    package var domain: String
    package var path: String
    package var reason: CookieRefusal?
    /// The identity of the changed cookie; nil for a refused cookie.
    package var identity: Cookie.Identity?

    package init(_ kind: Kind, _ cookie: Cookie) {
        self.kind = kind
        (name, domain, path) = (cookie.name, cookie.domain, cookie.path)
        identity = cookie.identity
    }

    package init(refused name: String, domain: String, path: String, _ reason: CookieRefusal) {
        kind = .refused
        (self.name, self.domain, self.path) = (name, domain, path)
        self.reason = reason
    }
}

/// Why a cookie was refused, or is not sent.
package enum CookieRefusal: String, Sendable, CaseIterable {
    // taking
    case controlCharacter, noName, tooLarge, domainMismatch, publicSuffix, domainNotASCII, secureOverHTTP,
        overlaysSecure, prefix, sameSiteNoneNeedsSecure, partitionedNeedsSecure, thirdParty, notAccepted, noHost,
        badPath
    // sending
    case otherHost, otherPath, needsSecure, expired, otherPartition, crossSite, fieldTooLong

    /// For people.
    package var text: String {
        switch self {
        case .controlCharacter: "a control character, a semicolon, or an equals sign in the name cannot be sent"
        case .noName: "the cookie has no name"
        case .tooLarge: "name and value have more than 4,096 bytes"
        case .domainMismatch: "Domain is neither the host nor a domain above it"
        case .publicSuffix: "Domain is a public suffix, or above the registrable domain of the host"
        case .domainNotASCII: "Domain has characters beyond ASCII"
        case .secureOverHTTP: "a Secure cookie came over plain http"
        case .overlaysSecure: "a Secure cookie of that name exists, and the response came over plain http"
        case .prefix: "the prefix of the name needs attributes that the cookie does not have"
        case .sameSiteNoneNeedsSecure: "SameSite=None needs Secure"
        case .partitionedNeedsSecure: "Partitioned needs Secure"
        case .thirdParty: "the response came from another site than the request named"
        case .notAccepted: "the request or its session accepts no cookies"
        case .noHost: "no host is known that the cookie could belong to (a Unix socket has none)"
        case .badPath: "the path does not begin with a slash"
        case .otherHost: "the cookie belongs to another host"
        case .otherPath: "the path of the cookie does not lead to the URL"
        case .needsSecure: "a Secure cookie is not sent over plain http"
        case .expired: "the cookie has expired"
        case .otherPartition: "the cookie belongs to another partition"
        case .crossSite: "SameSite keeps the cookie from a cross-site request"
        case .fieldTooLong: "the Cookie field would have more than 32 KiB"
        }
    }
}
