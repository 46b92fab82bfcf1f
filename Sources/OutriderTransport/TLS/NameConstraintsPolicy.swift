// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import SwiftASN1
import X509

/// The names of each certificate must be inside of what its issuers may name (RFC 5280 section 4.2.1.10).
///
/// The library has the same rule, with gaps: an excluded name that is written with a dot at the end, or that only a
/// wildcard covers, passes; and constraints on directory names and on e-mail addresses fail every path.
struct NameConstraintsPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.nameConstraints]

    /// Comparisons of names with subtrees on one path.
    static let mostComparisons = 1 << 18

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        guard let fault = Self.fault(of: Array(chain)) else { return .meetsPolicy }
        return .failsToMeetPolicy(reason: PolicyFailureReason(fault))
    }

    /// Nil if the names are right. A root that is the server's certificate has itself for its issuer.
    static func fault(of chain: [Certificate]) -> String? {
        var comparisons = 0
        for (index, issuer) in chain.enumerated() where index > 0 || chain.count == 1 {
            guard let constraints = try? issuer.extensions.nameConstraints else {
                if issuer.extensions[oid: .X509ExtensionID.nameConstraints] == nil { continue }
                return "the name constraints of an authority on its path cannot be read"
            }
            for (below, certificate) in chain.prefix(max(index, 1)).enumerated() {
                // an authority's certificate for its own next key
                if below > 0, certificate.subject == certificate.issuer { continue }
                guard let names = try? names(of: certificate) else {
                    return "the names of a certificate on its path cannot be read"
                }
                let trees = constraints.permittedSubtrees.count &+ constraints.excludedSubtrees.count
                comparisons &+= names.count &* trees
                guard comparisons <= mostComparisons else { return unsupported }
                for name in names {
                    if let fault = fault(of: name, constraints) { return fault }
                }
            }
        }
        return nil
    }

    /// `CertificateObjection` says the rest.
    static let unsupported = "a name has an unsupported constraint"
    private static let outside = "a name is outside of the name constraints of its issuer"

    /// The subject, if any, and the alternative names.
    private static func names(of certificate: Certificate) throws -> [GeneralName] {
        var names: [GeneralName] = []
        if !certificate.subject.isEmpty { names.append(.directoryName(certificate.subject)) }
        if let alternatives = try certificate.extensions.subjectAlternativeNames {
            names.append(contentsOf: alternatives)
            return names
        }
        // the older place of an e-mail address
        for attribute in certificate.subject.flatMap({ Array($0) })
        where attribute.type == ASN1ObjectIdentifier.RDNAttributeType.emailAddress {
            if let address = String(attribute.value) { names.append(.rfc822Name(address)) }
        }
        return names
    }

    private static func fault(of name: GeneralName, _ constraints: NameConstraints) -> String? {
        for tree in constraints.excludedSubtrees {
            switch NameSubtree.place(of: name, in: tree, coversMore: true) {
            case .inside: return outside
            case .unclear: return unsupported
            case .outside, .otherKind: continue
            }
        }
        var fault: String?
        for tree in constraints.permittedSubtrees {
            switch NameSubtree.place(of: name, in: tree, coversMore: false) {
            case .inside: return nil
            case .unclear: fault = unsupported
            case .outside: fault = fault ?? outside
            case .otherKind: continue
            }
        }
        return fault
    }
}

/// Whether a name is in the subtree of a constraint (RFC 5280 section 4.2.1.10).
enum NameSubtree {
    enum Place {
        case inside, outside
        /// The constraint is on names of another kind.
        case otherKind
        /// The two cannot be compared.
        case unclear
    }

    /// - Parameter coversMore: whether a name with a wildcard is inside if only some of the hosts that it covers are.
    static func place(of name: GeneralName, in tree: GeneralName, coversMore: Bool) -> Place {
        switch (name, tree) {
        case (.dnsName(let host), .dnsName(let domain)):
            return isHost(host, in: domain, coversMore: coversMore) ? .inside : .outside
        case (.ipAddress(let address), .ipAddress(let range)):
            return place(ofAddress: address.bytes, in: range.bytes)
        case (.directoryName(let name), .directoryName(let start)): return place(ofDirectory: name, in: start)
        case (.rfc822Name(let mailbox), .rfc822Name(let wanted)): return place(ofMailbox: mailbox, in: wanted)
        case (.uniformResourceIdentifier(let uri), .uniformResourceIdentifier(let domain)):
            guard let host = host(ofURI: uri) else { return .unclear }
            return isHost(host, in: domain, coversMore: false) ? .inside : .outside
        case (.otherName(let name), .otherName(let wanted)):
            return name.typeID == wanted.typeID ? .unclear : .otherKind
        case (.x400Address, .x400Address), (.ediPartyName, .ediPartyName), (.registeredID, .registeredID):
            return .unclear
        default: return .otherKind
        }
    }

    /// A domain contains itself, unless a dot comes first, and all hosts below.
    private static func isHost(_ host: String, in domain: String, coversMore: Bool) -> Bool {
        let (host, domain) = (plain(host), plain(domain))
        if domain.isEmpty { return true }
        let isBelow = host.hasSuffix(domain.hasPrefix(".") ? domain : ".\(domain)")
        if isBelow || host == domain { return true }
        guard coversMore, host.hasPrefix("*.") else { return false }
        // the star stands for a single label
        let suffix = host.dropFirst()
        return domain.hasSuffix(suffix) && !domain.dropLast(suffix.count).contains(".")
    }

    private static func plain(_ host: some StringProtocol) -> String {
        let host = host.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    private static func place(ofAddress address: ArraySlice<UInt8>, in range: ArraySlice<UInt8>) -> Place {
        guard range.count == 8 || range.count == 32, address.count == 4 || address.count == 16 else { return .unclear }
        let (base, mask) = (range.prefix(range.count / 2), range.suffix(range.count / 2))
        // ones, and then zeros
        let rest = mask.drop { $0 == 0xFF }
        let zeros = ~(rest.first ?? 0xFF)
        guard zeros & (zeros &+ 1) == 0, rest.dropFirst().allSatisfy({ $0 == 0 }) else { return .unclear }
        guard address.count == base.count else { return .outside }
        let isInside = zip(address, zip(base, mask)).allSatisfy { $0 & $1.1 == $1.0 & $1.1 }
        return isInside ? .inside : .outside
    }

    /// A mailbox, all mailboxes of a host, or all of the hosts behind a dot.
    private static func place(ofMailbox mailbox: String, in wanted: String) -> Place {
        guard let at = mailbox.lastIndex(of: "@") else { return .unclear }
        let host = plain(mailbox[mailbox.index(after: at)...])
        if let wantedAt = wanted.lastIndex(of: "@") {
            let isSameHost = host == plain(wanted[wanted.index(after: wantedAt)...])
            return isSameHost && mailbox[..<at] == wanted[..<wantedAt] ? .inside : .outside
        }
        let domain = plain(wanted)
        if domain.isEmpty { return .inside }
        return (domain.hasPrefix(".") ? host.hasSuffix(domain) : host == domain) ? .inside : .outside
    }

    /// Nil if the URI has no host, or an address for its host: no constraint can permit such a URI.
    private static func host(ofURI uri: String) -> String? {
        let parts = uri.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[0].hasSuffix(":"), parts[1].isEmpty else { return nil }
        let authority = parts[2].prefix { $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let host = place.prefix { $0 != ":" }
        let isAddress = host.hasPrefix("[") || host.allSatisfy { $0 == "." || $0.isNumber }
        return isAddress ? nil : String(host)
    }

    // MARK: directory names

    /// A name is inside if it begins with all of the subtree.
    private static func place(ofDirectory name: DistinguishedName, in start: DistinguishedName) -> Place {
        guard start.count <= name.count else { return .outside }
        var place = Place.inside
        for (part, wanted) in zip(name, start) {
            switch compared(part, wanted) {
            case true?: continue
            case false?: return .outside
            case nil: place = .unclear
            }
        }
        return place
    }

    /// Whether both have the same attributes, in any order; nil if that cannot be told.
    private static func compared(_ part: RelativeDistinguishedName, _ wanted: RelativeDistinguishedName) -> Bool? {
        guard part.count == wanted.count else { return false }
        var isClear = true
        for attribute in wanted {
            let results = part.filter { $0.type == attribute.type }.map { compared($0.value, attribute.value) }
            if results.contains(true) { continue }
            guard results.contains(nil) else { return false }
            isClear = false
        }
        return isClear ? true : nil
    }

    /// Without regard to case and to the amount of white space (RFC 5280 section 7.1); nil if one is not of a kind of
    /// text that can be read.
    private static func compared(
        _ value: RelativeDistinguishedName.Attribute.Value, _ wanted: RelativeDistinguishedName.Attribute.Value
    ) -> Bool? {
        if value == wanted { return true }
        guard let text = String(value), let other = String(wanted) else { return nil }
        return folded(text) == folded(other)
    }

    private static func folded(_ text: String) -> String {
        text.lowercased().split { $0.isWhitespace }.joined(separator: " ")
    }
}

/// The rules of RFC 5280 as the library knows them: versions, dates, authorities, and names.
struct PathRulesPolicy: VerifierPolicy {
    private let library = RFC5280Policy()

    var verifyingCriticalExtensions: [ASN1ObjectIdentifier] { library.verifyingCriticalExtensions }

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        let result = library.chainMeetsPolicyRequirements(chain: chain)
        // the library looks at name constraints last, and `NameConstraintsPolicy` knows these
        if case .failsToMeetPolicy(let reason) = result, Self.isUnsupportedConstraint(reason.description) {
            return .meetsPolicy
        }
        return result
    }

    private static func isUnsupportedConstraint(_ reason: String) -> Bool {
        if reason == "RFC5280Policy: directoryName name constraints are not supported." { return true }
        let start = "RFC5280Policy: Unable to validate "
        return ["permitted", "excluded"].contains { reason.hasPrefix("\(start)\($0) subtree for name ") }
            && reason.hasSuffix(", unsupported constraint")
    }
}
