// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import OutriderHTTP
import X509

/// Looks for a path from a server's certificate to a trusted one. What the server sent beside the path does not count.
struct PathSearch: Sendable {
    enum Outcome: Sendable {
        case found([Certificate])
        /// In the words of the policies, perhaps none.
        case failed([String])
    }

    let served: ServedChain
    let roots: TrustRoots.Store

    /// The default evaluation.
    /// - Parameters:
    ///   - host: whether the host must be among the names.
    ///   - pins: of which one must be on the path; paths without are passed over.
    func find(host: Bool, pins: PathPins? = nil) async -> Outcome {
        let names = ServerNamePolicy(subject: host ? served.subject : nil)
        // a server's certificate that is trusted for itself need not be an authority's
        if roots.all.contains(served.leaf), faultOfTrustedLeaf(names, pins) == nil { return .found([served.leaf]) }
        let others = CertificateStore(served.certificates.dropFirst())
        var verifier = Verifier(rootCertificates: roots.certificates) {
            // before the rules of RFC 5280, which let a certificate of version 1 issue others
            StrengthPolicy()
            PathRulesPolicy()
            NameConstraintsPolicy()
            ServerUsagePolicy()
            names
            PinPolicy(pins: pins)
        }
        switch await verifier.validate(leaf: served.leaf, intermediates: others) {
        case .validCertificate(let chain): return .found(Array(chain))
        case .couldNotValidate(let failures):
            return .failed(failures.map { String(describing: $0.policyFailureReason) })
        }
    }

    private func faultOfTrustedLeaf(_ names: ServerNamePolicy, _ pins: PathPins?) -> String? {
        let leaf = served.leaf
        let now = Date.now
        if leaf.notValidAfter < now || leaf.notValidBefore > now { return "dates" }
        if ServerUsagePolicy.fault(of: leaf) != nil { return "usage" }
        if StrengthPolicy.fault(of: leaf, 0, isRoot: true) != nil { return "strength" }
        if let subject = names.subject, !ServerNamePolicy.names(of: leaf).cover(subject.name) { return "name" }
        if let pins, !pins.contains(leaf) { return "pin" }
        let known = SignaturesPolicy.known
        return leaf.extensions.contains { $0.critical && !known.contains($0.oid) } ? "extension" : nil
    }

    /// Signatures from the server's certificate through authorities up to a pinned one, and nothing else but the name.
    func findLinked(to pins: PathPins, host: Bool) async -> Outcome {
        if host, !ServerNamePolicy.names(of: served.leaf).cover(served.subject.name) { return .failed(["name"]) }
        if pins.contains(served.leaf) { return .found([served.leaf]) }
        var anchors = served.certificates.filter(pins.contains)
        if case .certificates(let set) = pins { anchors += set }
        let others = CertificateStore(served.certificates.dropFirst())
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            SignaturesPolicy(served.certificates + anchors)
        }
        switch await verifier.validate(leaf: served.leaf, intermediates: others) {
        case .validCertificate(let chain): return .found(Array(chain))
        case .couldNotValidate: return .failed([])
        }
    }
}
