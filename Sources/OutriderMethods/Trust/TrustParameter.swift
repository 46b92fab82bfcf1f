// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The trust policy for a server: `default`, `none`, or an object with a single policy (Trust of the contract).
struct TrustParameter: JSONDecodable, Sendable {
    var policy: TrustPolicy

    private static let mostPins = 100
    private static let mostPolicies = 16
    private static let deepest = 4

    init(json: JSONValue) throws(JSONComplaint) { policy = try Self.policy(json, level: 0) }

    private static func policy(_ json: JSONValue, level: Int) throws(JSONComplaint) -> TrustPolicy {
        if let word = json.string {
            switch word {
            case "default": return .default
            case "none" where level == 0: return .none
            default:
                let words = level == 0 ? "\"default\", \"none\" or an object" : "\"default\" or an object"
                throw JSONComplaint("must be \(words), not \(word.excerpt)")
            }
        }
        guard json.object != nil else {
            throw JSONComplaint("must be a word or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        let found = try policy(&fields, level: level)
        try fields.finish()
        guard let found else {
            throw JSONComplaint("must hold one of publicKeys, pinnedCertificates, revocation, callback and all")
        }
        if found.pinCount > mostPins { throw JSONComplaint("must not hold more than \(mostPins) pins") }
        return found
    }

    /// The single policy among the members; nil if there is none.
    static func policy(_ fields: inout JSONFields, level: Int = 0) throws(JSONComplaint) -> TrustPolicy? {
        let said = fields.present(["publicKeys", "pinnedCertificates", "revocation", "callback", "all"])
        if said.count > 1 {
            let names = said.map(\.description).joined(separator: " and ")
            throw JSONComplaint("\(names) exclude each other: put both into all")
        }
        if let only = said.first, only.description != "callback" { try fields.refuseCallbackOptions() }
        // all are read, so that null counts as absent, and an error tells all known names
        var policy: TrustPolicy?
        if let keys: PublicKeyPinsParameter = try fields.optional("publicKeys") { policy = .publicKeys(keys.pins) }
        if let pins: CertificatePinsParameter = try fields.optional("pinnedCertificates") {
            policy = .pinnedCertificates(pins.pins)
        }
        if let revocation: RevocationParameter = try fields.optional("revocation") {
            policy = .revocation(revocation.policy)
        }
        if let spec = try fields.callback() { policy = .callback(ClientCode(.callback(spec))) }
        if let list = fields.value("all") { policy = try all(list, level: level) }
        return policy
    }

    private static func all(_ json: JSONValue, level: Int) throws(JSONComplaint) -> TrustPolicy {
        do throws(JSONComplaint) {
            guard let items = json.array else { throw JSONComplaint("must be a list, not \(json.typeName)") }
            guard (1...mostPolicies).contains(items.count) else {
                throw JSONComplaint("must hold 1 to \(mostPolicies) policies")
            }
            guard level < deepest else { throw JSONComplaint("must not be more than \(deepest) levels deep") }
            var policies: [TrustPolicy] = []
            for (index, item) in items.enumerated() {
                do throws(JSONComplaint) {
                    policies.append(try policy(item, level: level + 1))
                } catch {
                    throw error.under(index: index)
                }
            }
            return .all(policies)
        } catch {
            throw error.under(member: "all")
        }
    }
}

/// `{pins, chain, host}`.
private struct PublicKeyPinsParameter: JSONDecodable {
    var pins: KeyPins

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let given: [String]? = try fields.optional("pins")
        let chain: Bool? = try fields.optional("chain")
        let host: Bool? = try fields.optional("host")
        try fields.finish()
        let texts = try JSONFields.need("pins", given)
        var list: [PublicKeyPin] = []
        for (index, text) in texts.enumerated() {
            guard let pin = PublicKeyPin(parsing: text) else {
                throw JSONComplaint(
                    "must be sha256/ and 44 characters of base64, or the PEM text of a public key or certificate"
                )
                .under(index: index).under(member: "pins")
            }
            list.append(pin)
        }
        pins = KeyPins(list)
        pins.chain = chain ?? true
        pins.host = host ?? true
    }
}

/// `{files, pem, acceptSelfSigned, chain, host}`.
private struct CertificatePinsParameter: JSONDecodable {
    var pins: CertificatePins

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let files = try fields.paths("files")
        let texts: [String] = try fields.optional("pem") ?? []
        pins = CertificatePins(files: files)
        pins.acceptsSelfSigned = try fields.optional("acceptSelfSigned") ?? false
        pins.chain = try fields.optional("chain") ?? true
        pins.host = try fields.optional("host") ?? true
        try fields.finish()
        for (index, text) in texts.enumerated() {
            do throws(JSONComplaint) {
                pins.certificates += try CertificateText.certificates(text)
            } catch {
                throw error.under(index: index).under(member: "pem")
            }
        }
    }
}

/// `{crlFiles, methods, network, required}`.
private struct RevocationParameter: JSONDecodable {
    var policy = RevocationPolicy()

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        policy.crlFiles = try fields.paths("crlFiles", most: 64)
        policy.usesNetwork = try fields.optional("network") ?? false
        policy.isRequired = try fields.optional("required") ?? false
        let methods: [String]? = try fields.optional("methods")
        try fields.finish()
        guard let methods else { return }
        policy.methods = []
        for (index, word) in methods.enumerated() {
            guard let method = RevocationPolicy.Method(rawValue: word), !policy.methods.contains(method) else {
                throw JSONComplaint("must be ocsp or crl, each once").under(index: index).under(member: "methods")
            }
            policy.methods.append(method)
        }
        if policy.methods.isEmpty { throw JSONComplaint("must not be empty").under(member: "methods") }
    }
}

/// Certificates in PEM text.
enum CertificateText {
    /// - Parameter isBundle: leave out certificates that cannot be read, as of a file of roots.
    static func certificates(_ text: String, isBundle: Bool = false) throws(JSONComplaint) -> [[UInt8]] {
        let blocks = PEMBlock.all(in: text).filter { $0.label == "CERTIFICATE" }.map(\.bytes)
        let readable = blocks.filter { CertificateScanner($0) != nil }
        guard !blocks.isEmpty else { throw JSONComplaint("must be PEM text with BEGIN CERTIFICATE lines") }
        if !isBundle || readable.isEmpty, let index = blocks.firstIndex(where: { CertificateScanner($0) == nil }) {
            throw JSONComplaint(
                "must hold readable certificates: the certificate with index \(index) of \(blocks.count) cannot be read"
            )
        }
        return readable
    }
}

/// Policies by host, or a single policy for all hosts (SessionTrust of the contract).
struct SessionTrustParameter: JSONDecodable, Sendable {
    var policy: TrustPolicy?
    var hosts = HostTable<TrustPolicy>()
    var allHostsMustBeEvaluated = true
    /// The JSON from the client in the form of the contract.
    let shown: JSONValue

    init(json: JSONValue) throws(JSONComplaint) {
        shown = GivenSecurity.shown(json)
        guard json.object != nil else {
            policy = try TrustParameter(json: json).policy
            return
        }
        var fields = try JSONFields(json)
        let hosts = try fields.optional("hosts") { (hosts: HostsParameter<TrustParameter>) in
            hosts.entries.isEmpty
                ? "must name a host (for the default verification of every host, set trust to \"default\")" : nil
        }
        let mustBe: Bool? = try fields.optional("allHostsMustBeEvaluated")
        policy = try TrustParameter.policy(&fields)
        if hosts != nil, policy == nil { try fields.refuseCallbackOptions() }
        try fields.finish()
        guard (hosts == nil) != (policy == nil) else {
            throw JSONComplaint("must hold one of hosts, publicKeys, pinnedCertificates, revocation, callback and all")
        }
        if hosts == nil, mustBe != nil {
            throw JSONComplaint(
                "allHostsMustBeEvaluated goes with hosts only", at: JSONPointer(member: "allHostsMustBeEvaluated"))
        }
        self.hosts = hosts?.table.map(\.policy) ?? HostTable()
        allHostsMustBeEvaluated = mustBe ?? true
    }
}

/// Values by host pattern.
struct HostsParameter<Value: JSONDecodable & Sendable>: JSONDecodable, Sendable {
    var entries: [(HostPattern, Value)]

    init(json: JSONValue) throws(JSONComplaint) {
        guard let object = json.object else { throw JSONComplaint("must be an object, not \(json.typeName)") }
        guard object.members.count <= 1000 else { throw JSONComplaint("must not hold more than 1000 hosts") }
        entries = []
        var known: Set<HostPattern> = []
        for member in object.members {
            do throws(JSONComplaint) {
                guard let pattern = HostPattern(member.name) else {
                    throw JSONComplaint("must be a host, *.example.com, **.example.com or *, perhaps with a port")
                }
                guard known.insert(pattern.unwritten).inserted else {
                    throw JSONComplaint("must not name a host that another member names: give each host once")
                }
                entries.append((pattern, try Value(json: member.value)))
            } catch {
                throw error.under(member: member.name)
            }
        }
    }

    var table: HostList<Value> { HostList(entries: entries) }
}

/// A list from which a `HostTable` of other values is made.
struct HostList<Value: Sendable>: Sendable {
    var entries: [(HostPattern, Value)]

    func map<Other: Sendable & Hashable>(_ change: (Value) -> Other) -> HostTable<Other> {
        HostTable(entries.map { ($0.0, change($0.1)) })
    }
}
