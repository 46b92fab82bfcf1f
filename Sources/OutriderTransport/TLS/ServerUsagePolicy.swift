// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import SwiftASN1
import X509

/// The certificate of a server must not be meant for something else only (RFC 5280 section 4.2.1.12).
struct ServerUsagePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.extendedKeyUsage]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        do {
            guard let usage = try chain.leaf.extensions.extendedKeyUsage else { return .meetsPolicy }
            if usage.contains(.serverAuth) || usage.contains(.any) { return .meetsPolicy }
            return .failsToMeetPolicy(reason: "it is not meant for servers")
        } catch {
            return .failsToMeetPolicy(reason: "its extended key usage cannot be read")
        }
    }
}

/// Accepts every name: to find out whether the name is all that is wrong.
struct AnyNamePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.subjectAlternativeName]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult { .meetsPolicy }
}
