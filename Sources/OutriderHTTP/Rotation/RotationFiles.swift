// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The files in the directory of a credential, read under its lock.
package struct RotationFiles: Sendable {
    /// A file of the directory.
    package enum Name: String, Sendable, CaseIterable {
        case record, previous = "record.prev", intent, response, pause
    }

    package enum Sight<Value: Sendable>: Sendable {
        case absent
        /// The file exists, but does not hold valid data of this credential.
        case damaged
        case whole(Value)

        package var value: Value? { if case .whole(let value) = self { value } else { nil } }
        package var isDamaged: Bool { if case .damaged = self { true } else { false } }
    }

    package var record = Sight<CredentialRecord>.absent
    /// The record before the current one.
    package var previous = Sight<CredentialRecord>.absent
    /// A record that could not be written to its own place.
    package var escrow = Sight<CredentialRecord>.absent
    package var intent = Sight<RotationIntent>.absent
    package var response: TokenEndpointResponse?
    package var pause: RotationPause?

    package init() {}
}

/// The stored part of a token endpoint response.
package struct TokenEndpointResponse: Sendable, Equatable {
    package var attempt: UInt64
    package var status: Int
    /// Seconds, if the server sent the field.
    package var retryAfter: Double?
    /// When the request was sent: expiry counts from then on.
    package var sentAt: ClockPair
    package var body: [UInt8]
    package var isComplete: Bool

    package init(
        attempt: UInt64, status: Int, retryAfter: Double? = nil, sentAt: ClockPair, body: [UInt8], isComplete: Bool
    ) {
        self.attempt = attempt
        self.status = status
        self.retryAfter = retryAfter
        self.sentAt = sentAt
        self.body = body
        self.isComplete = isComplete
    }
}

/// A pause after failures of the server.
package struct RotationPause: Sendable, Equatable {
    /// Failures in a row.
    package var failures: Int
    /// By the clock of the boot.
    package var until: Double
    package var boot: String

    /// Seconds; a longer Retry-After is cut to this limit.
    static let longest = 300.0
    private static let longestUsual = 60.0
    private static let freeFailures = 2

    /// Remaining seconds; nil once the pause is over.
    package func left(at now: ClockPair, boot: String) -> Double? {
        let left = until - now.boot
        return boot == self.boot && left > 0 && left <= Self.longest ? left : nil
    }

    /// The pause after a further failure: 1, 2, 4 … 60 seconds from the second failure on, or as long as the server
    /// requests.
    ///
    /// - Parameter jitter: 0.9 to 1.1.
    static func after(
        _ last: RotationPause?, retryAfter: Double?, jitter: Double, at now: ClockPair, boot: String
    ) -> RotationPause {
        let failures = last.map { $0.boot == boot ? min($0.failures, 30) &+ 1 : 1 } ?? 1
        var seconds = 0.0
        if failures > freeFailures {
            seconds = (0..<(failures - freeFailures - 1)).reduce(1.0) { seconds, _ in min(seconds * 2, longestUsual) }
        }
        seconds = min(max(seconds * jitter, retryAfter ?? 0), longest)
        return RotationPause(failures: failures, until: now.boot + seconds, boot: boot)
    }
}

extension RotationPause: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, failures)
        writer.put(2, until)
        writer.put(3, boot)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            failures: try scanner.integer(1).orFault(), until: try scanner.real(2).orFault(),
            boot: try scanner.text(3).orFault())
    }
}
