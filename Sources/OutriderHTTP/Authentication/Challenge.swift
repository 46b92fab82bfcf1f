// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An authentication challenge: a scheme with either parameters or one opaque text (RFC 9110 section 11.3).
package struct Challenge: Sendable, Equatable {
    package struct Parameter: Sendable, Equatable {
        /// Lower-case.
        package var name: String
        /// Without its quotes.
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// As the server wrote the scheme; compared without case.
    package var scheme: String
    /// In order; of repeated names the first counts.
    package var parameters: [Parameter] = []
    /// The token68 in place of parameters, as with Negotiate.
    package var token: String?
    /// Whether the bytes of its texts are ISO 8859-1.
    package var isLatin1 = false

    package init(_ scheme: String, _ parameters: [Parameter] = [], token: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token = token
    }

    /// The value of a parameter, its name lower-case.
    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    package func isOf(_ scheme: String) -> Bool { HTTPFields.same(self.scheme, scheme) }
}

/// The party that requests credentials, and the names of its fields.
package enum ChallengeSource: Sendable, Hashable {
    /// The server itself: 401.
    case origin
    /// A proxy: 407.
    case proxy

    package init?(status: Int) {
        switch status {
        case 401: self = .origin
        case 407: self = .proxy
        default: return nil
        }
    }

    /// RFC 9110 sections 11.6.1 and 11.7.1.
    package var challengeField: String { self == .origin ? "WWW-Authenticate" : "Proxy-Authenticate" }
    /// RFC 9110 sections 11.6.3 and 11.7.3.
    package var infoField: String { self == .origin ? "Authentication-Info" : "Proxy-Authentication-Info" }
}
