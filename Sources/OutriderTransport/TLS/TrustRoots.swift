// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import SwiftASN1
import Synchronization
import X509

/// The certificates that are trusted to begin with, read from files when they are first needed.
///
/// A file is read again when it has changed, whether it is the system's or was named by a caller.
final class TrustRoots: Sendable {
    /// Root certificates, for a search and for looking one up.
    struct Store: Sendable {
        var certificates: CertificateStore
        var all: Set<Certificate>

        init(_ list: [Certificate]) {
            certificates = CertificateStore(list)
            all = Set(list)
        }
    }

    private struct Entry {
        var stamp: FileStamps
        var store: Store
    }

    private static let mostEntries = 64
    private static let mostFilesInDirectory = 4096
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    private let systemFile: String?
    private let entries = Mutex<[RootsSpec: Entry]>([:])

    /// - Parameter systemFile: instead of SSL_CERT_FILE and the places where systems keep their bundle.
    init(systemFile: String? = nil) { self.systemFile = systemFile }

    /// The states of the files and directories that roots come from now, and of the files in the directories. Blocks.
    func stamps(of roots: RootsSpec) -> FileStamps { FileStamps(paths(roots)) }

    /// Blocks while it reads. Throws `settingAnchorCertificatesFailed`.
    func store(for roots: RootsSpec) throws(HTTPFailure) -> Store {
        let stamp = stamps(of: roots)
        if let entry = entries.withLock({ $0[roots] }), entry.stamp == stamp { return entry.store }
        let store = try Store(read(roots))
        entries.withLock { entries in
            if entries.count >= Self.mostEntries { entries = [:] }
            entries[roots] = Entry(stamp: stamp, store: store)
        }
        return store
    }

    private func paths(_ roots: RootsSpec) -> [String] {
        var paths = [roots.file].compactMap(\.self)
        var directories = [roots.directory].compactMap(\.self)
        if roots.includesSystem {
            paths += [systemBundle].compactMap(\.self)
            directories += Self.systemDirectories
        }
        return paths + directories.flatMap { [$0] + ((try? Self.files(in: $0)) ?? []) }
    }

    private var systemBundle: String? {
        if let systemFile { return systemFile }
        if let named = Self.variable("SSL_CERT_FILE") { return named }
        return Self.bundles.first { access($0, R_OK) == 0 }
    }

    /// A list with colons between, as for OpenSSL.
    private static var systemDirectories: [String] {
        (variable("SSL_CERT_DIR") ?? "").split(separator: ":").map(String.init)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func read(_ roots: RootsSpec) throws(HTTPFailure) -> [Certificate] {
        var found: [Certificate] = []
        if let file = roots.file { found += try Self.certificates(in: file) }
        if let directory = roots.directory { found += try Self.certificates(inDirectory: directory) }
        // as in a file, one of an unsupported kind does not take the others with it
        let given = roots.certificates.compactMap { try? Certificate(derEncoded: $0) }
        if given.isEmpty, let first = roots.certificates.first {
            let fault = ServedChain.fault(of: first)
            throw Self.failure("tls.roots.pem holds no certificate that can be used: \(fault)")
        }
        found += given
        guard roots.includesSystem else { return found }
        let directories = Self.systemDirectories
        if let bundle = systemBundle {
            found += try Self.certificates(in: bundle)
        } else if directories.isEmpty {
            throw Self.failure("no root certificates are installed: install ca-certificates, or set SSL_CERT_FILE")
        }
        return try found + Self.certificates(inDirectories: directories)
    }

    /// One of several directories may be missing, or empty.
    private static func certificates(inDirectories paths: [String]) throws(HTTPFailure) -> [Certificate] {
        var found: [Certificate] = []
        var fault: HTTPFailure?
        for path in paths {
            do throws(HTTPFailure) {
                found += try certificates(inDirectory: path)
            } catch {
                fault = fault ?? error
            }
        }
        if found.isEmpty, let fault { throw fault }
        return found
    }

    private static func certificates(in file: String) throws(HTTPFailure) -> [Certificate] {
        // one that cannot be read, of some old kind perhaps, must not take the others with it
        let found = try CertificateFile.certificates(in: file)
        guard found.isEmpty else { return found }
        if let fault = try CertificateFile.fault(in: file) {
            throw failure("\(file) holds no certificate that can be used: \(fault)")
        }
        throw failure("\(file) holds no certificate: it must be a PEM file with BEGIN CERTIFICATE lines")
    }

    /// Files that hold no certificate are passed over, as keys and lists beside certificates are.
    private static func certificates(inDirectory path: String) throws(HTTPFailure) -> [Certificate] {
        let found = try files(in: path).flatMap { (try? CertificateFile.certificates(in: $0)) ?? [] }
        guard found.isEmpty else { return found }
        throw failure("\(path) holds no file with BEGIN CERTIFICATE lines")
    }

    /// The paths of the files in a directory, in order.
    private static func files(in path: String) throws(HTTPFailure) -> [String] {
        guard let directory = opendir(path) else {
            throw CertificateFile.unreadable(path, errno)
        }
        defer { closedir(directory) }
        var names: Set<String> = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            names.insert(name)
            if names.count > mostFilesInDirectory {
                throw failure(
                    "\(path) holds more than \(mostFilesInDirectory) files: name a smaller directory, or a file")
            }
        }
        return names.sorted().map { "\(path)/\($0)" }
    }

    private static func failure(_ text: String) -> HTTPFailure {
        HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls)
    }
}
