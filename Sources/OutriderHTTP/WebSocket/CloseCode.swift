// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Status codes of Close frames (RFC 6455 section 7.4).
package enum CloseCode {
    package static let normal = 1000
    package static let goingAway = 1001
    package static let protocolError = 1002
    /// Reported for a Close frame without a code; never sent.
    package static let none = 1005
    /// Reported for a connection that ended without a Close frame; never sent.
    package static let lost = 1006
    package static let invalidPayload = 1007
    package static let policyViolation = 1008
    package static let messageTooBig = 1009

    /// The longest reason, in bytes of UTF-8: a control frame carries 125 bytes, the code takes two.
    package static let longestReason = 123

    /// Whether a Close frame may carry the code, in either direction.
    package static func isSendable(_ code: Int) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// A rule of the protocol that the server broke, or a limit that was exceeded: the connection fails with this code.
package struct WebSocketFault: Error, Sendable, Equatable {
    /// The code of the Close frame that is sent.
    package var code: Int
    package var text: String

    package init(_ code: Int, _ text: String) {
        self.code = code
        self.text = text
    }

    package static func broken(_ text: String) -> WebSocketFault { WebSocketFault(CloseCode.protocolError, text) }

    package static func tooBig(_ limit: Int) -> WebSocketFault {
        WebSocketFault(CloseCode.messageTooBig, "a message is longer than \(limit) bytes (maxMessage)")
    }
}
