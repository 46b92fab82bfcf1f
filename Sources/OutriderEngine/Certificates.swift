// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

extension Engine {
    /// Certificates in DER, in words; those that cannot be read are left out.
    package static func certificates(_ chain: [[UInt8]]) -> [CertificateFacts] { CertificateFacts.describing(chain) }
}
