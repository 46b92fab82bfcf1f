// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

extension Engine {
    /// Describes certificates in DER; unreadable certificates are left out.
    package static func certificates(_ chain: [[UInt8]]) -> [CertificateFacts] { CertificateFacts.describing(chain) }
}

extension Engine {
    /// Evaluates the certificates of a server without a request; see `HTTPTransport`.
    package func examine(_ attempt: Attempt, chain: [[UInt8]]? = nil) async -> TLSExamination {
        guard let transport = environment.transport as? HTTPTransport else {
            return TLSExamination(failure: HTTPFailure(.sessionTaskFailed, "the transport has no TLS"))
        }
        return await transport.examine(attempt, chain: chain)
    }
}
