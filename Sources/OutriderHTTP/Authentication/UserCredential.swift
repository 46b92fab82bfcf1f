// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// A user name and a password, and the permitted schemes. Its descriptions never show the password.
package struct UserCredential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package enum Scheme: String, Sendable, CaseIterable {
        /// RFC 7617: the password itself.
        case basic
        /// RFC 7616: a proof of knowing the password.
        case digest
    }

    package var username: String
    package var password: String
    /// Nil for all safe schemes: Digest anywhere, Basic where the route is confidential.
    package var schemes: [Scheme]?

    package init(_ username: String, _ password: String, schemes: [Scheme]? = nil) {
        self.username = username
        self.password = password
        self.schemes = schemes
    }

    /// Why no scheme can send this credential, and the faulty member; nil if valid.
    package var fault: (member: String, message: String)? {
        // a colon ends the name in Basic (RFC 7617 section 2) and in the hash input of Digest (RFC 7616 section 3.4.2)
        if username.utf8.contains(UInt8(ascii: ":")) { return ("username", "must not contain a colon, which ends it") }
        for (member, text) in [("username", username), ("password", password)]
        where text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return (member, "must not contain control characters")
        }
        return nil
    }

    /// Whether the scheme may be used. A listed scheme always may. Without a list, Digest may, and Basic if the route
    /// is confidential.
    ///
    /// - Parameter isConfidential: whether the route hides the request.
    func permits(_ scheme: Scheme, isConfidential: Bool) -> Bool {
        if let schemes { return schemes.contains(scheme) }
        return scheme == .digest || isConfidential
    }

    /// Compares bytes: a password in another normal form is another password for most servers. Equal bytes have equal
    /// hashes, so that the hash of the texts serves.
    package static func == (one: UserCredential, other: UserCredential) -> Bool {
        one.hasLogin(of: other) && one.schemes == other.schemes
    }

    /// Whether both are the same user with the same password.
    func hasLogin(of other: UserCredential) -> Bool {
        username.utf8.elementsEqual(other.username.utf8) && password.utf8.elementsEqual(other.password.utf8)
    }

    /// The credential in NFC, for servers that say `charset="UTF-8"` (RFC 7617 section 2.1, RFC 7616 section 4). For
    /// other servers the credential stays as typed.
    package var normalized: UserCredential {
        UserCredential(username.composed, password.composed, schemes: schemes)
    }

    /// The value of the field for Basic, in UTF-8 (RFC 7617 section 2).
    package var basicValue: String { "Basic \(Base64.encode(Array("\(username):\(password)".utf8)))" }

    package var description: String { "\(username):\(SecretFields.mask)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
