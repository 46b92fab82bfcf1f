// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a server says about a signature that it accepted (RFC 7616 section 3.5).
package struct AuthenticationInfo: Sendable, Equatable {
    /// The nonce that it wants from now on.
    package var nextNonce: String?
    /// Its own proof that it knows the password.
    package var serverResponse: String?
    /// Of that proof, where it says so.
    package var protection: DigestChallenge.Protection?

    /// - Parameter fields: of Authentication-Info, or of Proxy-Authentication-Info.
    package init(_ fields: [String]) {
        let parameters = Challenge("", ChallengeScanner.parameters(in: fields))
        nextNonce = parameters["nextnonce"].flatMap { nonce in
            nonce.isEmpty || nonce.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : nonce
        }
        serverResponse = parameters["rspauth"]
        protection = parameters["qop"].flatMap { DigestChallenge.Protection(rawValue: $0.lowercased()) }
    }

    /// Whether it proves the body that came, too.
    package func provesBody(of answer: DigestAnswer) -> Bool {
        serverResponse != nil && (protection ?? answer.challenge.protection) == .authInt
            && answer.challenge.protection != nil
    }

    /// Why the server cannot be believed to know the password, though it says so; nil if it can, or says nothing.
    ///
    /// - Parameter bodyHash: of the body that came, for `auth-int`; nil if that is not known, which nobody is blamed for.
    package func fault(of answer: DigestAnswer, bodyHash: String?) -> HTTPFailure? {
        guard let serverResponse, !serverResponse.isEmpty else { return nil }
        var answer = answer
        if let protection, answer.challenge.protection != nil { answer.challenge.protection = protection }
        if provesBody(of: answer), bodyHash == nil { return nil }
        guard !HTTPFields.same(serverResponse, answer.serverResponse(bodyHash: bodyHash ?? "")) else { return nil }
        return HTTPFailure(
            .serverAuthenticationFailed,
            "the server could not prove that it knows the password: rspauth in its Authentication-Info is wrong",
            sent: .sent)
    }
}
