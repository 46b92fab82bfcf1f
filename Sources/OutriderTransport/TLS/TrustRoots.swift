// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import SwiftASN1
import Synchronization
import X509

/// The certificates that are trusted to begin with, read from PEM files when they are first needed.
///
/// A file is read again when it has changed, whether it is the system's or was named by a caller.
final class TrustRoots: Sendable {
    /// Tells one state of a file from another.
    struct Stamp: Hashable, Sendable {
        var inode: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64
    }

    private struct Entry {
        var stamp: Stamp?
        var store: CertificateStore
    }

    private static let largestFile = 32 << 20
    private static let mostEntries = 64
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    private let systemFile: String?
    private let entries = Mutex<[Trust: Entry]>([:])

    /// - Parameter systemFile: instead of SSL_CERT_FILE and the places where systems keep their bundle.
    init(systemFile: String? = nil) { self.systemFile = systemFile }

    /// Which state of its file a trust means now; nil if there is no such file.
    func stamp(of trust: Trust) -> Stamp? { (try? file(for: trust)).flatMap(Stamp.init(of:)) }

    /// Blocks while it reads. Throws `settingAnchorCertificatesFailed`.
    func store(for trust: Trust) throws(HTTPFailure) -> CertificateStore {
        let stamp = stamp(of: trust)
        if let entry = entries.withLock({ $0[trust] }), entry.stamp == stamp { return entry.store }
        let store = try CertificateStore(read(file(for: trust)))
        entries.withLock { entries in
            if entries.count >= Self.mostEntries { entries = [:] }
            entries[trust] = Entry(stamp: stamp, store: store)
        }
        return store
    }

    private func file(for trust: Trust) throws(HTTPFailure) -> String {
        switch trust {
        case .roots(let file): return file
        case .system:
            if let systemFile { return systemFile }
            if let named = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), !named.isEmpty { return named }
            if let bundle = Self.bundles.first(where: { access($0, R_OK) == 0 }) { return bundle }
            let text = "no root certificates are installed: install ca-certificates, or set SSL_CERT_FILE"
            throw HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls)
        }
    }

    private func read(_ file: String) throws(HTTPFailure) -> [Certificate] {
        let text = try contents(of: file)
        // one that cannot be read, of some old kind perhaps, must not take the others with it
        let documents = (try? PEMDocument.parseMultiple(pemString: text)) ?? []
        let found = documents.compactMap { $0.discriminator == "CERTIFICATE" ? try? Certificate(pemDocument: $0) : nil }
        guard found.isEmpty else { return found }
        let message = "\(file) holds no certificate: it must be a PEM file with BEGIN CERTIFICATE lines"
        throw HTTPFailure(.settingAnchorCertificatesFailed, message, phase: .tls)
    }

    private func contents(of file: String) throws(HTTPFailure) -> String {
        let descriptor: CInt
        do throws(FileFault) {
            descriptor = try CheckedFile.open(file, O_RDONLY, .regular)
        } catch {
            throw Self.unreadable(file, error.code, error.description)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= Self.largestFile {
            let got = Glibc.read(descriptor, &piece, piece.count)
            if got == 0 { return String(decoding: bytes, as: UTF8.self) }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw Self.unreadable(file, errno) }
            bytes += piece.prefix(got)
        }
        throw HTTPFailure(
            .settingAnchorCertificatesFailed, "\(file) is too large for a file of certificates", phase: .tls)
    }

    private static func unreadable(_ file: String, _ code: CInt, _ why: String? = nil) -> HTTPFailure {
        let reason = why ?? String(cString: strerror(code))
        let underlying = HTTPFailure.Underlying(.file, Int(code), reason)  // safe: CInt is narrower
        let text = "the trusted certificates in \(file) cannot be read: \(reason)"
        return HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls, underlying: underlying)
    }
}

extension TrustRoots.Stamp {
    fileprivate init?(of file: String) {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        self.init(
            inode: UInt64(clamping: status.st_ino), size: Int64(clamping: status.st_size),
            seconds: Int64(clamping: status.st_mtim.tv_sec), nanoseconds: Int64(clamping: status.st_mtim.tv_nsec))
    }
}
