// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import NIOSSL

@testable import OutriderHTTP
@testable import OutriderJSON

// MARK: strict transport security

/// A field by the grammar of RFC 6797 section 6.1; nil for anything else, and for escapes.
private func strictlyRead(_ field: [UInt8]) -> (age: Int64, includesSubdomains: Bool)? {
    var directives: [String: [UInt8]?] = [:]
    var rest = field[...]
    while !rest.isEmpty {
        rest = rest.drop { $0 == 0x20 }
        let name = rest.prefix(while: isTokenByte)
        rest = rest.dropFirst(name.count).drop { $0 == 0x20 }
        var value: [UInt8]?
        if rest.first == UInt8(ascii: "=") {
            rest = rest.dropFirst().drop { $0 == 0x20 }
            let isQuoted = rest.first == UInt8(ascii: "\"")
            if isQuoted { rest = rest.dropFirst() }
            let found = rest.prefix {
                isQuoted ? (0x20...0x7E).contains($0) && !"\"\\".utf8.contains($0) : isTokenByte($0)
            }
            rest = rest.dropFirst(found.count)
            if isQuoted, rest.popFirst() != UInt8(ascii: "\"") { return nil }
            if !isQuoted, found.isEmpty { return nil }
            rest = rest.drop { $0 == 0x20 }
            value = Array(found)
        }
        guard rest.isEmpty || rest.popFirst() == UInt8(ascii: ";"), !name.isEmpty || value == nil else { return nil }
        if name.isEmpty { continue }
        let word = String(decoding: name, as: UTF8.self).lowercased()
        guard directives.updateValue(value, forKey: word) == nil else { return nil }
    }
    guard directives.count <= 32, let digits = directives["max-age"] ?? nil, (1...9).contains(digits.count),
        digits.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    let subdomains = directives["includesubdomains"]
    if let value = subdomains, value != nil { return nil }
    return (min(digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }, 315_360_000), subdomains != nil)
}

private func isTokenByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
}

/// A field, and the file of all hosts, which is written and read again to itself.
func strictTransport(_ input: Input) {
    let now: Int64 = 1_790_000_000
    guard let url = try? HTTPURL(parsing: "https://a.test/x"), let below = try? HTTPURL(parsing: "http://b.a.test/"),
        let plain = try? HTTPURL(parsing: "http://a.test/x")
    else { return }
    var store = HSTSStore()
    let isKept = store.learn(input.text, from: url, now: now)
    let secure = store.upgraded(plain, now: now)
    expect(isKept == (secure != nil), "the field is kept, or has an effect, but not both")
    expect(secure.map { $0 == url } ?? true, "another URL: \(secure?.description ?? "")")
    let isWide = store.entries["a.test"]?.includesSubdomains == true
    expect((store.upgraded(below, now: now) != nil) == isWide, "hosts below have another rule")
    if let (age, includesSubdomains) = strictlyRead(input.bytes) {
        expect(isKept == (age > 0), "max-age is \(age)")
        expect(isWide == (age > 0 && includesSubdomains), "another includeSubDomains")
        expect(store.upgraded(plain, now: now + age) == nil, "it lasts longer than \(age) seconds")
    }
    let file = HSTSStore(parsing: input.text)
    let again = HSTSStore(parsing: file.text(now: now))
    expect(again.entries == file.entries.filter { $0.value.expires > now }, "read again: \(again), and not \(file)")
}

// MARK: pins of public keys

/// A pin is written and read again; of a certificate, BoringSSL knows the same key.
func pins(_ input: Input) {
    if let pin = PublicKeyPin(parsing: input.text) {
        expect(pin.digest.count == 32, "\(pin.digest.count) bytes")
        expect(PublicKeyPin(parsing: pin.description) == pin, "read again it is another one: \(pin)")
        let curls = pin.description.replacing("sha256/", with: "sha256//")
        expect(PublicKeyPin(parsing: curls) == pin, "in the form of curl it is another one: \(curls)")
    }
    let digest = Array(SHA256.hash(data: input.bytes))
    let written = PublicKeyPin(parsing: "sha256/\(Base64.encode(digest))")
    expect(written?.digest == digest && written == PublicKeyPin(ofKey: input.bytes), "another digest")
    guard let pin = PublicKeyPin(ofCertificate: input.bytes) else { return }
    expect(PublicKeyPin(parsing: PEMBlock.certificate(input.bytes)) == pin, "as PEM text it is another one")
    // the library traps at a key that it does not know: only keys of Ed25519, where any 32 bytes are one
    let head: [UInt8] = [0x30, 0x2A, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 3, 0x21, 0]
    guard let known = CertificateScanner(input.bytes)?.publicKey, known.starts(with: head), known.count == 44,
        let certificate = try? NIOSSLCertificate(bytes: input.bytes, format: .der),
        let key = try? certificate.extractPublicKey().toSPKIBytes()
    else { return }
    expect(pin == PublicKeyPin(ofKey: key), "BoringSSL knows another key")
}

// MARK: the public suffix list

/// The registrable domain by the algorithm of publicsuffix.org, rule by rule; nil where two exceptions compete.
private func registrable(_ host: [Substring], _ rules: [(labels: [Substring], isException: Bool)]) -> String?? {
    let matching = rules.filter { rule in
        // as in browsers, the name below which all names are suffixes cannot be registered
        (rule.labels.count <= host.count || rule.labels.count == host.count + 1 && rule.labels.first == "*")
            && zip(rule.labels.reversed(), host.reversed()).allSatisfy { $0 == "*" || $0 == $1 }
    }
    let exceptions = matching.filter(\.isException)
    if exceptions.count > 1 { return nil }
    let longest = matching.map(\.labels.count).max() ?? 1
    let length = exceptions.first.map { $0.labels.count - 1 } ?? longest
    return .some(host.count > length ? host.suffix(length + 1).joined(separator: ".") : nil)
}

private func isPlain(_ text: Substring) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    return text.utf8.count <= 100
        && labels.allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && !label.utf8.allSatisfy { (0x30...0x39).contains($0) }
                && label.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
                && !label.hasPrefix("0x")
        }
}

/// A list beside the algorithm that looks at each rule. The first line is a host.
func suffixes(_ input: Input) {
    let lines = input.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    guard lines.count == 2, let list = PublicSuffixes.read(String(lines[1]), date: nil) else { return }
    _ = list.site(of: String(lines[0]))
    let rules = lines[1].split(separator: "\n")
    let bare = rules.map { $0.hasPrefix("!") ? $0.dropFirst() : $0.hasPrefix("*.") ? $0.dropFirst(2) : $0 }
    guard rules.count <= 40, isPlain(lines[0]), bare.allSatisfy(isPlain) else { return }
    let host = lines[0].split(separator: ".")
    let read = rules.map { rule in
        let isException = rule.hasPrefix("!")
        return (labels: (isException ? rule.dropFirst() : rule).split(separator: "."), isException: isException)
    }
    guard let expected = registrable(host, read) else { return }
    let found = list.registrableDomain(of: String(lines[0]))
    expect(found == expected, "\(found ?? "nothing"), and not \(expected ?? "nothing")")
}
