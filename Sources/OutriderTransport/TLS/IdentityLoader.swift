// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import Glibc
import NIOCore
import NIOSSL
import OutriderHTTP
import Synchronization
import X509

/// Reads certificates of our own and their keys, when a server asks for one.
final class IdentityLoader: Sendable {
    struct Identity: Sendable {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey
        /// The end of the validity of the first certificate, in seconds since 1970; nil if it cannot be read.
        let expires: Double?

        init(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
            self.chain = chain
            self.key = key
            let bytes = try? chain.first?.toDERBytes()
            let certificate = bytes.flatMap { try? Certificate(derEncoded: $0) }
            expires = certificate?.notValidAfter.timeIntervalSince1970
        }

        var change: NIOSSLContextConfigurationOverride {
            var change = NIOSSLContextConfigurationOverride()
            change.certificateChain = chain.map { .certificate($0) }
            change.privateKey = .privateKey(key)
            return change
        }
    }

    private struct Entry {
        var spec: IdentitySpec
        var stamps: FileStamps
        var identity: Identity
        var until: NIODeadline
    }

    private static let mostEntries = 100
    private static let memory = TimeAmount.milliseconds(600_000)

    /// After so many wrong passphrases no further callback is made.
    private static let mostPassphrases = 3

    private let entries = Mutex<[Entry]>([])
    /// Waiting for a passphrase.
    private let waiting = Mutex<[IdentitySpec: [Waiter]]>([:])

    typealias Hand = @Sendable (Result<Identity, HTTPFailure>) -> Void

    private struct Waiter: Sendable {
        var loop: any EventLoop
        var callbackRuns: @Sendable (Bool) -> Void
        var hand: Hand
    }

    /// Hands the identity over on the loop. Files are read again when they have changed, and after ten minutes.
    ///
    /// - Parameter callbackRuns: told on the loop when a callback for a passphrase begins, and when it ends.
    func load(
        _ spec: IdentitySpec, for client: ClientKey, on loop: any EventLoop,
        callbackRuns: @escaping @Sendable (Bool) -> Void, _ hand: @escaping Hand
    ) {
        var text: SecretText?
        if case .text(let given)? = spec.passphrase { text = given }
        read(spec, text, for: client) { result, isLocked in
            guard isLocked, case .code(let code)? = spec.passphrase else { return loop.execute { hand(result) } }
            self.wait(for: code, spec, client, Waiter(loop: loop, callbackRuns: callbackRuns, hand: hand))
        }
    }

    /// Hands over, on a thread of its own, the identity and whether a passphrase is missing or wrong.
    private func read(
        _ spec: IdentitySpec, _ passphrase: SecretText?, for client: ClientKey,
        _ hand: @escaping @Sendable (Result<Identity, HTTPFailure>, Bool) -> Void
    ) {
        let isTaken = BlockingThreads.files.run(for: client) {
            let reader = IdentityReader(spec, passphrase)
            let result = Result { () throws(HTTPFailure) in try self.load(spec, reader) }
            hand(result, reader.isLocked)
        }
        guard !isTaken else { return }
        let text = "the client certificate cannot be read: too much work on files waits for this client (try again)"
        hand(.failure(HTTPFailure(.clientCertificateUnusable, text, phase: .tls, retryable: true)), false)
    }

    /// One callback for all connections that need the same key.
    private func wait(for code: ClientCode, _ spec: IdentitySpec, _ client: ClientKey, _ waiter: Waiter) {
        waiter.loop.execute { waiter.callbackRuns(true) }
        let isFirst = waiting.withLock { waiting in
            waiting[spec, default: []].append(waiter)
            return waiting[spec]?.count == 1
        }
        guard isFirst else { return }
        // not structured: the connection that needs the key may be gone before the client has replied
        Task {
            let result = await self.unlocked(spec, code, client)
            let waiters = self.waiting.withLock { $0.removeValue(forKey: spec) } ?? []
            for waiter in waiters {
                waiter.loop.execute {
                    waiter.callbackRuns(false)
                    waiter.hand(result)
                }
            }
        }
    }

    private func unlocked(
        _ spec: IdentitySpec, _ code: ClientCode, _ client: ClientKey
    ) async -> Result<Identity, HTTPFailure> {
        var failures = 0
        while failures < Self.mostPassphrases, let text = await code.passphrase(of: spec.keyPath, failures: failures) {
            let (result, isLocked) = await withCheckedContinuation { continuation in
                read(spec, text, for: client) { continuation.resume(returning: ($0, $1)) }
            }
            if !isLocked { return result }
            failures += 1
        }
        let why = failures == 0 ? "there is no passphrase for it" : "no passphrase opens it"
        return .failure(
            HTTPFailure(
                .clientCertificateUnusable,
                "the server asks for a client certificate: the key in \(spec.keyPath) is encrypted, and \(why)",
                phase: .tls, retryable: false, pointer: spec.pointer.map { $0 + "/passphraseFrom" }))
    }

    private func load(_ spec: IdentitySpec, _ reader: IdentityReader) throws(HTTPFailure) -> Identity {
        let stamps = FileStamps(spec.paths)
        let now = NIODeadline.now()
        let known = entries.withLock { entries in
            entries.removeAll { $0.until <= now }
            return entries.first { $0.spec == spec && $0.stamps == stamps }?.identity
        }
        if let known { return known }
        let identity = try reader.read()
        entries.withLock { entries in
            entries.removeAll { $0.spec == spec }
            if entries.count >= Self.mostEntries { entries.removeFirst() }
            entries.append(Entry(spec: spec, stamps: stamps, identity: identity, until: now + Self.memory))
        }
        return identity
    }
}

extension IdentitySpec {
    fileprivate var paths: [String] {
        switch source {
        case .pem(let certificate, let key): [certificate, key]
        case .pkcs12(let file): [file]
        }
    }

    fileprivate var keyPath: String {
        switch source {
        case .pem(_, let key): key
        case .pkcs12(let file): file
        }
    }
}

/// Reads one identity, and says what is wrong with it. Blocks.
private final class IdentityReader {
    private let spec: IdentitySpec
    private let passphrase: SecretText?
    /// The passphrase is missing or wrong.
    private(set) var isLocked = false

    init(_ spec: IdentitySpec, _ passphrase: SecretText?) {
        self.spec = spec
        self.passphrase = passphrase
    }

    func read() throws(HTTPFailure) -> IdentityLoader.Identity {
        let identity: IdentityLoader.Identity
        switch spec.source {
        case .pem(let certificate, let key): identity = try readPEM(certificate, key)
        case .pkcs12(let file): identity = try readPKCS12(file)
        }
        try checkPair(identity)
        return identity
    }

    private func readPEM(_ certificate: String, _ keyFile: String) throws(HTTPFailure) -> IdentityLoader.Identity {
        let blocks = PEMBlock.all(in: try contents(certificate, "/certificate")).filter { $0.label == "CERTIFICATE" }
        let chain = blocks.compactMap { try? NIOSSLCertificate(bytes: $0.bytes, format: .der) }
        guard !chain.isEmpty, chain.count == blocks.count else {
            let what = blocks.isEmpty ? "holds no certificate" : "holds a certificate that cannot be read"
            throw unusable(
                "\(certificate) \(what) (give a PEM file with BEGIN CERTIFICATE, or name it as pkcs12)", "/certificate")
        }
        var bytes = try contents(keyFile, "/key")
        // NIOSSL takes the marked line for text in front of the key
        if bytes.starts(with: PEMBlock.mark) { bytes.removeFirst(PEMBlock.mark.count) }
        guard let block = PEMBlock.all(in: bytes).first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
            throw unusable("\(keyFile) holds no private key (give a PEM file with BEGIN PRIVATE KEY)", "/key")
        }
        return IdentityLoader.Identity(chain: chain, key: try readKey(bytes, block, keyFile))
    }

    private func readKey(_ bytes: [UInt8], _ block: PEMBlock, _ file: String) throws(HTTPFailure) -> NIOSSLPrivateKey {
        let isEncrypted = block.label == "ENCRYPTED PRIVATE KEY" || block.headers.contains { $0.contains("ENCRYPTED") }
        try checkKind(block, file)
        if !isEncrypted { try checkMode(file, "/key") }
        guard isEncrypted else {
            if let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) { return key }
            throw unusable(
                "the key in \(file) cannot be read (it may be damaged, or of a kind that is not supported)", "/key")
        }
        guard let passphrase else {
            isLocked = true
            throw unusable(
                "the key in \(file) is encrypted, and there is no passphrase (give passphrase)", "/passphrase")
        }
        // NIOSSL traps on any other byte
        guard passphrase.value.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw unusable(
                "the passphrase of the key in \(file) has characters beyond ASCII, which are not supported (give the "
                    + "key another one: openssl pkcs8 -topk8 -v2 aes256 -in KEY -out NEW)", "/passphrase")
        }
        let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) { $0(Array(passphrase.value.utf8)) }
        if let key { return key }
        isLocked = true
        throw unusable(
            "the passphrase does not open the key in \(file); if it is right, the key is encrypted in a way that is not "
                + "supported (convert it: openssl pkcs8 -topk8 -v2 aes256 -in KEY -out NEW)", "/passphrase")
    }

    private func checkKind(_ block: PEMBlock, _ file: String) throws(HTTPFailure) {
        if block.label == "ENCRYPTED PRIVATE KEY", block.bytes.contains(Self.scrypt) {
            throw unusable(
                "the key in \(file) is encrypted with scrypt, which is not supported (convert it: openssl pkcs8 -topk8 "
                    + "-v2 aes256 -in KEY -out NEW)", "/key")
        }
        if block.label == "PRIVATE KEY", block.bytes.prefix(64).contains(Self.rsaPSS) {
            throw unusable(
                "the key in \(file) is an RSA-PSS key, which is not supported (use a key of the kind RSA, EC or Ed25519)",
                "/key")
        }
    }

    /// A key that is not encrypted must not be readable by every user.
    private func checkMode(_ file: String, _ member: String) throws(HTTPFailure) {
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & 0o007 != 0 else { return }
        throw unusable("the key in \(file) can be read by every user of this machine (chmod 600 \(file))", member)
    }

    private func readPKCS12(_ file: String) throws(HTTPFailure) -> IdentityLoader.Identity {
        let bytes = try contents(file, "/pkcs12")
        guard bytes.first == DERScanner.sequence else {
            throw unusable("\(file) is no PKCS#12 file (name PEM files as certificate and key)", "/pkcs12")
        }
        let passphrase = passphrase.map { Array($0.value.utf8) }
        try checkOpening(bytes, passphrase, file)
        guard let bundle = try? NIOSSLPKCS12Bundle(buffer: bytes, passphrase: passphrase) else {
            throw unusable("\(file) cannot be opened", "/pkcs12")
        }
        // an empty passphrase protects nothing
        if passphrase?.isEmpty ?? true { try checkMode(file, "/pkcs12") }
        return IdentityLoader.Identity(chain: bundle.certificateChain, key: bundle.privateKey)
    }

    /// NIOSSL is not to open a file that ends the process.
    private func checkOpening(_ bytes: [UInt8], _ passphrase: [UInt8]?, _ file: String) throws(HTTPFailure) {
        switch PKCS12Trial.outcome(of: bytes, passphrase) {
        case .opens: return
        case .fails:
            isLocked = true
            let text =
                passphrase == nil
                ? "\(file) cannot be opened without a passphrase (give passphrase)"
                : "the passphrase does not open \(file), or the file is damaged"
            throw unusable(text, "/passphrase")
        case .lacks:
            throw unusable(
                "\(file) does not hold a private key with its certificate, or the key is of a kind that is not "
                    + "supported (see openssl pkcs12 -info -in \(file))", "/pkcs12")
        case .untried(let reason): throw unusable("\(file) cannot be checked: \(reason)", "/pkcs12")
        }
    }

    private func checkPair(_ identity: IdentityLoader.Identity) throws(HTTPFailure) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = identity.chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(identity.key)
        if (try? NIOSSLContext(configuration: configuration)) != nil { return }
        throw unusable(
            "the client certificate and the key do not belong together (the first certificate of the file must be "
                + "the one of the key)", "/key")
    }

    private func contents(_ file: String, _ member: String) throws(HTTPFailure) -> [UInt8] {
        do throws(HTTPFailure) {
            return try CertificateFile.contents(of: file)
        } catch {
            let reason = error.underlying?.message ?? "it is too large"
            var failure = unusable("\(file) cannot be read: \(reason)", member)
            failure.underlying = error.underlying
            throw failure
        }
    }

    private func unusable(_ text: String, _ member: String) -> HTTPFailure {
        HTTPFailure(
            .clientCertificateUnusable, "the server asks for a client certificate: \(text)", phase: .tls,
            retryable: false, pointer: spec.pointer.map { $0 + member })
    }

    /// The object identifiers of scrypt (RFC 7914) and RSASSA-PSS (RFC 4055).
    private static let scrypt: [UInt8] = [0x06, 0x09, 0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x04, 0x0B]
    private static let rsaPSS: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
}

extension Sequence<UInt8> {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        let bytes = Array(self)
        guard bytes.count >= part.count else { return false }
        return (0...(bytes.count - part.count)).contains { bytes[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
