// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// A server's response to a device authorization request (RFC 8628 section 3.2).
package struct DeviceAuthorization: Sendable, Equatable {
    package var deviceCode: Secret
    /// The code that a person types in.
    package var userCode: String
    /// The page for the user code; https, or this machine.
    package var verification: String
    /// The verification URL with the code included.
    package var completeVerification: String?
    /// Seconds from the response on, 1 to 86,400.
    package var lifetime: Double
    /// Seconds between polls, 1 to 3600; default 5.
    package var interval: Double

    /// Throws `config` with the name of the malformed member.
    package init(response: [UInt8]) throws(OAuthFailure) {
        guard case .object(let members)? = try? JSONParser.parse(response, limits: .small) else {
            throw Self.fault("is no JSON object")
        }
        if !Self.isGiven("device_code", members), let error = members["error"]?.string, !error.isEmpty {
            let word = OAuthText.code(error)
            throw OAuthFailure(
                .config, word,
                "the device authorization endpoint refuses the client (\(word)): correct its client id or scope")
        }
        deviceCode = Secret(try Self.text("device_code", members, most: 4096))
        userCode = try Self.text("user_code", members, most: 64)
        // some servers use this name
        let isAlias = !Self.isGiven("verification_uri", members) && Self.isGiven("verification_url", members)
        let name = isAlias ? "verification_url" : "verification_uri"
        verification = try Self.place(name, members)
        let complete = "verification_uri_complete"
        completeVerification = Self.isGiven(complete, members) ? try Self.place(complete, members) : nil
        lifetime = min(max(1, members["expires_in"]?.seconds ?? 600), 86_400)
        interval = min(max(1, members["interval"]?.seconds ?? 5), 3600)
    }

    /// Some servers send null or an empty text in place of nothing.
    private static func isGiven(_ name: String, _ members: JSONObject) -> Bool {
        guard let value = members[name], value != .null else { return false }
        return value.string != ""
    }

    private static func text(_ name: String, _ members: JSONObject, most: Int) throws(OAuthFailure) -> String {
        guard let text = members[name]?.string, (1...most).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw fault("has no usable \(name)") }
        return text
    }

    private static func place(_ name: String, _ members: JSONObject) throws(OAuthFailure) -> String {
        let text = try text(name, members, most: 2048)
        guard let url = try? HTTPURL(parsing: text), url.isFitForAuthorization else {
            throw fault("has a \(name) that is no https URL")
        }
        return text
    }

    private static func fault(_ what: String) -> OAuthFailure {
        OAuthFailure(.config, "malformed_answer", "the response of the device authorization endpoint \(what)")
    }
}

/// Decides when to poll for the approval of a device login (RFC 8628 section 3.5).
package struct DeviceMachine: Sendable {
    package enum Action: Sendable, Equatable {
        /// Poll at that time.
        case poll(at: Double)
        /// The code expires before the next poll would be allowed.
        case expire(at: Double)
        case end(OAuthFailure)
    }

    private let end: Double
    private let lifetime: Double
    private var interval: Double

    /// - Parameter now: seconds of a clock that counts sleep.
    package init(_ authorization: DeviceAuthorization, now: Double) {
        end = now + authorization.lifetime
        lifetime = authorization.lifetime
        interval = authorization.interval
    }

    package func begin(now: Double) -> Action { next(now, after: interval) }

    /// Handles a poll that brought no tokens.
    package mutating func failed(_ failure: OAuthFailure, now: Double) -> Action {
        switch failure.reason {
        case "authorization_pending": return next(now, after: interval)
        case "slow_down":
            interval += 5
            return next(now, after: interval)
        // the code has been redeemed, or further polls show the same certificate
        case OAuthFailure.unusableTokenReason, "certificate_refused": return .end(failure)
        default:
            guard failure.kind == .temporary || failure.kind == .unknownOutcome else { return .end(failure) }
            // poll less often after a server failed to respond
            interval = min(interval * 2, max(60, interval))
            return next(now, after: max(interval, min(failure.retryAfter ?? 0, 300)))
        }
    }

    /// Whether a recorded login that has no poll at that time has expired. Recorded polls took their time, too, so that
    /// fewer of them fit into the lifetime.
    package func hasExpired(withoutPollAt time: Double) -> Bool { time + max(interval, lifetime / 5) >= end }

    private func next(_ now: Double, after seconds: Double) -> Action {
        now + seconds < end ? .poll(at: now + seconds) : .expire(at: end)
    }

    package static let expired = OAuthFailure(
        .needsLogin, "expired_token", "the login on the device was not approved in time: log in again")
}
