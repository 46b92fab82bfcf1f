// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What one challenge guards (RFC 9110 section 11.5): a server or a proxy, and there the realm.
package struct ProtectionSpace: Sendable, Hashable {
    package var source: ChallengeSource
    /// Scheme, host and port, as `HTTPURL.origin` writes them.
    package var origin: String
    package var realm: String

    package init(_ source: ChallengeSource, of url: HTTPURL, realm: String) {
        self.source = source
        origin = url.securityOrigin
        self.realm = realm
    }
}

extension HTTPURL {
    /// The same for all URLs of one origin, however their host was written.
    package var securityOrigin: String {
        var url = self
        url.host = hostName
        return url.origin
    }

    /// The path without the query: "/a/b".
    package var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// Up to the last slash of the path: what lies beside and below (RFC 7617 section 2.2).
    package var folder: String {
        let path = path
        return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}

extension String {
    /// Whether a path is this one, or lies below it. A prefix ends at a slash, or where the path ends or goes deeper.
    package func covers(path: Substring) -> Bool {
        guard path.utf8.starts(with: utf8) else { return false }
        let next = path.utf8.dropFirst(utf8.count).first
        return utf8.last == UInt8(ascii: "/") || next == nil || next == UInt8(ascii: "/")
    }
}
