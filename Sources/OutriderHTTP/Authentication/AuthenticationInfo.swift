// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A server's Authentication-Info or Proxy-Authentication-Info for an accepted signature (RFC 7616 section 3.5).
package struct AuthenticationInfo: Sendable, Equatable {
    /// The nonce for the next requests (`nextnonce`).
    package var nextNonce: FieldText?
    /// The server's proof that it knows the password (`rspauth`).
    package var serverResponse: String?
    /// The protection of that proof (`qop`), if the server names it.
    package var protection: DigestChallenge.Protection?

    /// - Parameter fields: of Authentication-Info, or of Proxy-Authentication-Info.
    package init(_ fields: [FieldText]) {
        let parameters = ChallengeScanner.parameters(in: fields)
        nextNonce = parameters["nextnonce"].flatMap { nonce in
            nonce.isEmpty || nonce.utf8.contains { $0 < 0x20 || $0 == 0x7F }
                ? nil : FieldText(nonce, isLatin1: parameters.isLatin1)
        }
        serverResponse = parameters["rspauth"]
        protection = parameters["qop"].flatMap { DigestChallenge.Protection(rawValue: $0.lowercased()) }
    }

    /// Whether the proof also covers the response body.
    package func provesBody(of credentials: DigestCredentials) -> Bool {
        serverResponse != nil && (protection ?? credentials.challenge.protection) == .authInt
            && credentials.challenge.protection != nil
    }

    /// Why the server's proof that it knows the password is wrong; nil if the proof is right or absent.
    ///
    /// - Parameter bodyHash: hash of the received body, for `auth-int`. If nil, a proof that covers the body is not
    ///   checked.
    package func fault(of credentials: DigestCredentials, bodyHash: String?) -> HTTPFailure? {
        guard let serverResponse, !serverResponse.isEmpty else { return nil }
        var credentials = credentials
        if let protection, credentials.challenge.protection != nil { credentials.challenge.protection = protection }
        if provesBody(of: credentials), bodyHash == nil { return nil }
        guard !HTTPFields.same(serverResponse, credentials.serverResponse(bodyHash: bodyHash ?? "")) else { return nil }
        return HTTPFailure(
            .serverAuthenticationFailed,
            "the server could not prove that it knows the password: rspauth in its Authentication-Info is wrong",
            sent: .sent)
    }
}
