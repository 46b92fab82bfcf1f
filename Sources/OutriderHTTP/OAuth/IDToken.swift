// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Validates an ID token (OpenID Connect Core section 3.1.3.7).
package struct IDTokenRules: Sendable {
    package var issuer: String
    package var clientID: String
    package var nonce: String
    /// The issuer's JWK Set, as received.
    package var keys: String

    /// Seconds by which clocks may differ.
    private static let leeway = 120.0
    private static let longest = 64 << 10

    /// Returns the subject.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: `needsLogin` with the reason `id_token_invalid`, and which check failed.
    @discardableResult
    package func check(_ token: Secret, now: Double) throws(OAuthFailure) -> String {
        let parts = token.exposed.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard token.exposed.utf8.count <= Self.longest, parts.count == 3,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64.decodeForURL(parts[2])
        else { throw Self.fault("is no JSON Web Token") }
        try checkSignature(header, "\(parts[0]).\(parts[1])", signature)
        guard claims["iss"]?.string == issuer else { throw Self.fault("is from another issuer") }
        try checkAudience(claims)
        try checkTimes(claims, now)
        guard let given = claims["nonce"]?.string, Secret(given) == Secret(nonce) else {
            throw Self.fault("belongs to another login")
        }
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count) else {
            throw Self.fault("names no subject")
        }
        return subject
    }

    private func checkSignature(_ header: JSONObject, _ text: String, _ signature: [UInt8]) throws(OAuthFailure) {
        guard let name = header["alg"]?.string, let algorithm = JSONWebAlgorithm(rawValue: name) else {
            throw Self.fault(
                "is signed by none of \(JSONWebAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        // extensions that must be understood, and are not supported (RFC 7515 section 4.1.11)
        if header["crit"] != nil { throw Self.fault("has critical extensions") }
        guard let keys = JSONWebKeys(keys) else {
            throw Self.fault("cannot be checked: the server's keys are no JWK Set")
        }
        guard keys.verify(signature, of: text, by: algorithm, keyID: header["kid"]?.string) else {
            throw Self.fault("is not signed by a key of the server")
        }
    }

    private func checkAudience(_ claims: JSONObject) throws(OAuthFailure) {
        let audience: [String?] =
            switch claims["aud"] {
            case .string(let one): [one]
            case .array(let several): several.map(\.string)
            default: []
            }
        guard audience.contains(clientID) else { throw Self.fault("is for another client") }
        let party = claims["azp"]
        if audience.count > 1, party == nil { throw Self.fault("is for several audiences without an azp claim") }
        if let party, party.string != clientID { throw Self.fault("was asked for by another client") }
    }

    private func checkTimes(_ claims: JSONObject, _ now: Double) throws(OAuthFailure) {
        guard let expires = claims["exp"]?.number, let issued = claims["iat"]?.number else {
            throw Self.fault("does not say when it was made and how long it is good")
        }
        if expires + Self.leeway <= now { throw Self.fault("has expired") }
        if issued - Self.leeway > now { throw Self.fault("is from the future: look at the clock of this machine") }
        guard let begins = claims["nbf"] else { return }
        guard let begins = begins.number else { throw Self.fault("does not say in a number from when on it is good") }
        if begins - Self.leeway > now { throw Self.fault("is not good yet") }
    }

    private static func object(_ part: String) -> JSONObject? {
        Base64.decodeForURL(part).flatMap { try? JSONParser.parse($0, limits: .small) }?.object
    }

    private static func fault(_ what: String) -> OAuthFailure {
        OAuthFailure(.needsLogin, "id_token_invalid", "the ID token \(what)")
    }
}
