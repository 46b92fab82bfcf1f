// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The scope of a challenge (RFC 9110 section 11.5): a server or a proxy, and a realm there.
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
    /// The origin with the host in canonical form: equal for all spellings of the host.
    package var securityOrigin: String {
        var url = self
        url.host = hostName
        return url.origin
    }

    /// The path without the query: "/a/b".
    package var path: Substring {
        target.prefix { $0 != "?" }
    }

    /// The path up to its last slash: Basic credentials hold for all paths below (RFC 7617 section 2.2).
    package var folder: String {
        let path = path
        return String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}

extension String {
    /// Whether a path equals this prefix or lies below. A prefix matches whole segments only.
    package func covers(path: Substring) -> Bool {
        guard path.utf8.starts(with: utf8) else { return false }
        let next = path.utf8.dropFirst(utf8.count).first
        return utf8.last == UInt8(ascii: "/") || next == nil || next == UInt8(ascii: "/")
    }
}
