// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How long a stored response is fresh, and how old it is (RFC 9111 section 4.2).
///
/// Ages and lifetimes are seconds, moments are milliseconds since 1970. Made once when a response is stored, so that a hit
/// parses nothing.
package struct Freshness: Sendable, Equatable {
    /// Seconds from the response's origin on; 0 if the response is stale from the start.
    package let lifetime: Int64
    /// Whether the response itself says how long it is fresh, though perhaps in a broken way.
    package let isExplicit: Bool
    package let control: CacheControl
    /// Milliseconds that the response was old when it arrived.
    private let initialAge: Int64
    private let respondedAt: Int64

    /// A clock that seems to have gone back by more than this, in milliseconds, makes responses stale.
    private static let clockSlack: Int64 = 2000

    /// - Parameter fallback: the lifetime of a response that names none, in seconds; nil for a tenth of the time since the
    ///   last change. Only for responses of which a cache may guess a lifetime (RFC 9111 section 4.2.2).
    package init(status: Int, _ fields: HTTPFields, requestedAt: Int64, respondedAt: Int64, fallback: Int64? = nil) {
        control = CacheControl(fields)
        self.respondedAt = respondedAt
        let seconds = respondedAt / 1000
        let date = fields.first("Date").flatMap { CacheDate.parse($0, now: seconds) } ?? seconds
        let apparent = max(0, seconds &- date) &* 1000
        let delay = max(0, respondedAt &- requestedAt)
        initialAge = max(apparent, Self.ageField(fields) &* 1000 &+ delay)
        if let maxAge = control.maxAge {
            (lifetime, isExplicit) = (maxAge, true)
        } else if let expires = fields.first("Expires") {
            let end = CacheDate.parse(expires, now: seconds) ?? .min
            (lifetime, isExplicit) = (end > date ? min(end &- date, CacheControlScanner.mostSeconds) : 0, true)
        } else {
            isExplicit = false
            let mayGuess = Self.isHeuristic(status) || control.isPublic
            lifetime = mayGuess ? fallback ?? Self.heuristic(fields, date: date, now: seconds) : 0
        }
    }

    /// Seconds. A clock that has jumped back makes the response as old as can be.
    package func age(at now: Int64) -> Int64 {
        let milliseconds = ageInMilliseconds(at: now)
        return min(milliseconds / 1000, CacheControlScanner.mostSeconds)
    }

    private func ageInMilliseconds(at now: Int64) -> Int64 {
        guard now &+ Self.clockSlack >= respondedAt else { return .max }
        return initialAge &+ max(0, now &- respondedAt)
    }

    /// Milliseconds for which it has been stale; negative while it is fresh.
    package func staleness(at now: Int64) -> Int64 {
        let age = ageInMilliseconds(at: now)
        return age == .max ? .max : age &- lifetime &* 1000
    }

    package func isFresh(at now: Int64) -> Bool { staleness(at: now) < 0 }

    /// Seconds for which it stays fresh; negative if it is stale.
    package func timeToLive(at now: Int64) -> Int64 { lifetime &- age(at: now) }

    /// Whether a stale response may be used at all (RFC 9111 section 4.2.4).
    package var mayBeStale: Bool { !control.mustRevalidate && !control.isNoCache }

    /// The first member of the first Age line; 0 if that is no number.
    private static func ageField(_ fields: HTTPFields) -> Int64 {
        guard let line = fields.first("Age") else { return 0 }
        let first = line.utf8.prefix { $0 != UInt8(ascii: ",") }
        return CacheControlScanner.seconds(String(FieldRules.trimmed(Substring(first)))) ?? 0
    }

    /// A tenth of the time since the last change, a week at most.
    private static func heuristic(_ fields: HTTPFields, date: Int64, now: Int64) -> Int64 {
        guard let line = fields.first("Last-Modified"), let changed = CacheDate.parse(line, now: now), changed < date
        else { return 0 }
        return min((date &- changed) / 10, 604_800)
    }

    /// Statuses of which a cache may guess a lifetime (RFC 9110 section 15.1).
    package static func isHeuristic(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}

/// Dates as caches read them: the three formats of HTTP, in any case of letters.
enum CacheDate {
    static func parse(_ text: String, now: Int64) -> Int64? {
        HTTPDate.parse(text, now: now) ?? HTTPDate.parse(usualCase(text), now: now)
    }

    /// Words begin with a capital, and GMT is one.
    private static func usualCase(_ text: String) -> String {
        var bytes: [UInt8] = []
        var isInWord = false
        for byte in text.utf8.prefix(64) {
            let small = byte | 0x20
            let isLetter = small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z")
            bytes.append(!isLetter ? byte : isInWord ? small : small & 0xDF)
            isInWord = isLetter
        }
        let written = String(decoding: bytes, as: UTF8.self)
        return written.hasSuffix(" Gmt") ? written.dropLast(3) + "GMT" : written
    }
}
