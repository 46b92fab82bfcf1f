// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A Cookie of the contract, with its value.
struct CookieShape: ObjectShape {
    var cookie: Cookie

    init(_ cookie: Cookie) { self.cookie = cookie }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", cookie.name)
        writer.member("value", cookie.value)
        writer.member("domain", cookie.domain)
        writer.member("path", cookie.path)
        writer.member("hostOnly", cookie.isHostOnly)
        writer.member("secure", cookie.isSecure)
        writer.member("httpOnly", cookie.isHTTPOnly)
        writer.member("sameSite", cookie.sameSite?.rawValue)
        writer.member("partition", cookie.partition)
        writer.member("expiresAt", cookie.expires.map { TimeShape(WallTime(microseconds: $0)) })
        writer.member("createdAt", TimeShape(WallTime(microseconds: cookie.created)))
    }
}

/// A CookieChange of the contract: the change of a cookie, without its value.
struct CookieChangeShape: ObjectShape {
    var change: CookieChange

    init(_ change: CookieChange) { self.change = change }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", change.kind.rawValue)
        writer.member("name", change.name)
        writer.member("domain", change.domain)
        writer.member("path", change.path)
        writer.member("reason", change.reason?.rawValue)
        writer.member("message", change.reason?.text)
    }
}

/// The changes of a call.
struct CookieChangesShape: ObjectShape {
    var changes: [CookieChange]
    /// Why they are not on the disk.
    var problem: String?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("changes", changes.map(CookieChangeShape.init))
        writer.member("problem", problem)
    }
}

/// The params of `event.cookies`.
struct CookieEventShape: ObjectShape {
    var jar: String?
    var session: String
    var changes: [CookieChange]

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("session", session)
        writer.member("jar", jar)
        writer.member("changes", changes.map(CookieChangeShape.init))
    }
}

extension WallTime {
    /// Since 1970, in the years 1 to 9999.
    init(microseconds: Int64) {
        let clamped = min(max(microseconds, -62_135_596_800_000_000), 253_402_300_799_000_000)
        let rest = (clamped % 1_000_000 + 1_000_000) % 1_000_000
        self.init(seconds: Int((clamped - rest) / 1_000_000), nanoseconds: Int(rest) * 1000)
    }
}
