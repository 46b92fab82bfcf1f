// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The options of TLS (TLSOptions and SessionTLS of the contract).
struct TLSParameter: Sendable {
    var settings = TLSSettings()

    /// Reads the members that requests and sessions share.
    fileprivate init(_ fields: inout JSONFields) throws(JSONComplaint) {
        settings.minVersion = try fields.optional("minVersion", as: VersionParameter.self)?.version
        settings.maxVersion = try fields.optional("maxVersion", as: VersionParameter.self)?.version
        settings.ciphers = try fields.optional("ciphers", as: CiphersParameter.self)?.ciphers
        settings.groups = try fields.optional("groups", as: GroupsParameter.self)?.groups
        settings.roots = try fields.optional("roots", as: RootsParameter.self)?.roots
        settings.identity = try fields.optional("identity", as: IdentityParameter.self)?.identity
        if settings.minVersion == .v13, settings.maxVersion == .v12 {
            throw JSONComplaint("must not be below minVersion", at: JSONPointer(member: "maxVersion"))
        }
    }
}

/// The TLS of a single request.
struct RequestTLSParameter: JSONDecodable, Sendable {
    var settings: TLSSettings

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        var tls = try TLSParameter(&fields)
        let name = try fields.optional("serverName") { (name: String) in
            name.isEmpty || HostPattern.host(name) != nil ? nil : "must be a host name, or empty"
        }
        tls.settings.serverName = name.flatMap { $0.isEmpty ? "" : HostPattern.host($0) }
        try fields.finish()
        settings = tls.settings
    }
}

/// The TLS of a session.
struct SessionTLSParameter: JSONDecodable, Sendable {
    var settings: TLSSettings
    var identities: HostTable<IdentitySpec>
    /// The JSON from the client in the form of the contract, with `***` for passphrases.
    let shown: JSONValue

    init(json: JSONValue) throws(JSONComplaint) {
        shown = GivenSecurity.shown(json)
        var fields = try JSONFields(json)
        settings = try TLSParameter(&fields).settings
        let hosts = try fields.optional("identities") { (hosts: HostsParameter<IdentityParameter>) in
            hosts.entries.count > 100 ? "must not hold more than 100 hosts" : nil
        }
        try fields.finish()
        identities = hosts?.table.map(\.identity) ?? HostTable()
    }
}

/// `host:port`.
struct ConnectToParameter: JSONDecodable, Sendable {
    var target: ConnectTarget

    init(json: JSONValue) throws(JSONComplaint) {
        guard let target = ConnectTarget(try String(json: json)) else {
            throw JSONComplaint("must be a host and a port, such as 127.0.0.1:8443, or one of them")
        }
        self.target = target
    }
}

private struct VersionParameter: JSONDecodable {
    var version: TLSSettings.Version

    init(json: JSONValue) throws(JSONComplaint) {
        guard let version = TLSSettings.Version(rawValue: try String(json: json)) else {
            throw JSONComplaint("must be \"1.2\" or \"1.3\"")
        }
        self.version = version
    }
}

private struct CiphersParameter: JSONDecodable {
    var ciphers: TLSSettings.Ciphers

    init(json: JSONValue) throws(JSONComplaint) {
        switch json.string {
        case "modern"?: ciphers = .modern
        case "compatible"?: ciphers = .compatible
        case let word?:
            throw JSONComplaint("must be \"modern\", \"compatible\" or a list of names, not \(word.excerpt)")
        case nil:
            let names = try [String](json: json)
            var numbers: [UInt16] = []
            for (index, name) in names.enumerated() {
                guard let number = TLSNames.cipher(name) else {
                    throw JSONComplaint("names no cipher suite that is known: \(name.excerpt)").under(index: index)
                }
                if !TLSNames.isOfTLS13(number) { numbers.append(number) }
            }
            if names.isEmpty { throw JSONComplaint("must not be empty") }
            ciphers = numbers.isEmpty ? .modern : .list(numbers)
        }
    }
}

private struct GroupsParameter: JSONDecodable {
    var groups: [UInt16]

    init(json: JSONValue) throws(JSONComplaint) {
        groups = []
        for (index, name) in try [String](json: json).enumerated() {
            guard let number = TLSNames.group(name), !groups.contains(number) else {
                let known = TLSNames.groups.map(\.name).joined(separator: ", ")
                throw JSONComplaint("must be one of \(known), each once").under(index: index)
            }
            groups.append(number)
        }
        if groups.isEmpty { throw JSONComplaint("must not be empty") }
    }
}

/// `{file, directory, pem, system}`.
private struct RootsParameter: JSONDecodable {
    var roots: RootsSpec

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        roots = RootsSpec(file: try fields.path("file"), directory: try fields.path("directory"))
        let text: String? = try fields.optional("pem")
        roots.includesSystem = try fields.optional("system") ?? false
        try fields.finish()
        if let text {
            do throws(JSONComplaint) {
                roots.certificates = try CertificateText.certificates(text, isBundle: true)
            } catch {
                throw error.under(member: "pem")
            }
        }
        if roots == RootsSpec() { throw JSONComplaint("must name file, directory or pem, or set system") }
    }
}

/// `{certificate, key, passphrase}` or `{pkcs12, passphrase}`; `passphraseFrom` in place of the passphrase.
struct IdentityParameter: JSONDecodable, Sendable {
    var identity: IdentitySpec

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let certificate = try fields.path("certificate")
        let key = try fields.path("key")
        let pkcs12 = try fields.path("pkcs12")
        let passphrase: String? = try fields.optional("passphrase")
        let code: PassphraseSourceParameter? = try fields.optional("passphraseFrom")
        try fields.finish()
        if passphrase != nil, code != nil {
            throw JSONComplaint(
                "passphraseFrom and passphrase exclude each other: give one",
                at: JSONPointer(member: "passphraseFrom"))
        }
        guard (certificate == nil) != (pkcs12 == nil) else {
            throw JSONComplaint("must hold one of certificate and pkcs12")
        }
        if key != nil, certificate == nil {
            throw JSONComplaint(
                "key goes with certificate: a PKCS#12 file holds its own key", at: JSONPointer(member: "key"))
        }
        let source: IdentitySpec.Source
        if let certificate {
            source = .pem(certificate: certificate, key: key ?? certificate)
        } else {
            source = .pkcs12(pkcs12 ?? "")
        }
        identity = IdentitySpec(
            source, passphrase: passphrase.map { .text(SecretText($0)) } ?? code.map { .code($0.code) })
    }
}

/// `{callback, decide, timeout}` or `{credential}`.
private struct PassphraseSourceParameter: JSONDecodable {
    var code: ClientCode

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let spec = try fields.callback()
        let credential: CredentialName? = try fields.optional("credential")
        if spec == nil, credential != nil { try fields.refuseCallbackOptions() }
        try fields.finish()
        switch (spec, credential) {
        case (let spec?, nil): code = ClientCode(.callback(spec))
        case (nil, let credential?): code = ClientCode(.credential(credential.text))
        default: throw JSONComplaint("must hold one of callback and credential")
        }
    }
}
