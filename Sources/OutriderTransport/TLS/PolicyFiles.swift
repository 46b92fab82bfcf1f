// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import X509

/// The contents of the files that a policy names. They are read before the evaluation, which must not block.
struct PolicyFiles: Sendable {
    private var certificates: [ByteText: Result<[Certificate], HTTPFailure>] = [:]
    private var lists: [ByteText: Result<[CRLScanner], HTTPFailure>] = [:]

    /// Blocks while it reads.
    init(_ policy: TrustPolicy) { read(policy) }

    private mutating func read(_ policy: TrustPolicy) {
        switch policy {
        case .pinnedCertificates(let pins):
            for file in pins.files where certificates[ByteText(file)] == nil {
                certificates[ByteText(file)] = Result { () throws(HTTPFailure) in
                    try CertificateFile.certificates(in: file)
                }
            }
        case .revocation(let revocation):
            for file in revocation.crlFiles where lists[ByteText(file)] == nil {
                lists[ByteText(file)] = Result { () throws(HTTPFailure) in try Self.list(file) }
            }
        case .all(let policies): for policy in policies { read(policy) }
        case .default, .none, .publicKeys, .callback: break
        }
    }

    func certificates(in file: String) throws(HTTPFailure) -> [Certificate] {
        try certificates[ByteText(file)]?.get() ?? []
    }

    /// Throws `revocationPolicyCreationFailed` if the file cannot be read.
    func lists(in file: String) throws(HTTPFailure) -> [CRLScanner] { try lists[ByteText(file)]?.get() ?? [] }

    private static func list(_ file: String) throws(HTTPFailure) -> [CRLScanner] {
        let bytes: [UInt8]
        do throws(HTTPFailure) {
            bytes = try CertificateFile.contents(of: file)
        } catch {
            let reason = error.underlying?.message ?? "it is too large"
            throw HTTPFailure(
                .revocationPolicyCreationFailed, "the revocation list \(file) cannot be read: \(reason)", phase: .tls,
                underlying: error.underlying)
        }
        let found =
            bytes.first == DERScanner.sequence
            ? [CRLScanner(bytes)]
            : PEMBlock.all(in: bytes).filter { $0.label == "X509 CRL" }.map { CRLScanner($0.bytes) }
        let lists = found.compactMap(\.self)
        guard !lists.isEmpty, lists.count == found.count else {
            throw HTTPFailure(
                .revocationPolicyCreationFailed, "\(file) holds no revocation list that can be read (give PEM or DER)",
                phase: .tls)
        }
        return lists
    }
}
