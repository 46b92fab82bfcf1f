// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import X509

extension CertificateFacts {
    /// Certificates in DER, in words; those that cannot be read are left out.
    package static func describing(_ chain: [[UInt8]]) -> [CertificateFacts] {
        chain.compactMap { bytes in (try? Certificate(derEncoded: bytes)).map { CertificateFacts($0, bytes) } }
    }

    init(_ certificate: Certificate, _ bytes: [UInt8]) {
        self.init(
            subject: String(describing: certificate.subject), issuer: String(describing: certificate.issuer),
            names: CertificateObjection.names(in: certificate),
            notBefore: CertificateObjection.moment(certificate.notValidBefore),
            notAfter: CertificateObjection.moment(certificate.notValidAfter),
            sha256: CertificateScanner.fingerprint(bytes),
            spki: PublicKeyPin(ofCertificate: bytes)?.description ?? "", pem: PEMBlock.certificate(bytes))
    }
}
