// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import X509

/// Reads files of certificates, keys and revocation lists. Blocks.
enum CertificateFile {
    static let largest = 32 << 20

    /// The certificates of a PEM file; those that cannot be parsed are left out. Throws `settingAnchorCertificatesFailed`.
    static func certificates(in file: String) throws(HTTPFailure) -> [Certificate] {
        try blocks(in: file).compactMap { try? Certificate(derEncoded: $0) }
    }

    /// Why the first certificate of a PEM file cannot be used; nil if the file has none. Throws as above.
    static func fault(in file: String) throws(HTTPFailure) -> String? {
        try blocks(in: file).first.map(ServedChain.fault)
    }

    /// In DER.
    private static func blocks(in file: String) throws(HTTPFailure) -> [[UInt8]] {
        PEMBlock.all(in: try contents(of: file)).compactMap { block -> [UInt8]? in
            switch block.label {
            case "CERTIFICATE": block.bytes
            case "TRUSTED CERTIFICATE": TrustedCertificate.forServers(block.bytes)
            default: nil
            }
        }
    }

    static func contents(of file: String) throws(HTTPFailure) -> [UInt8] {
        let descriptor: CInt
        do throws(FileFault) {
            descriptor = try CheckedFile.open(file, O_RDONLY, .regular)
        } catch {
            throw unreadable(file, error.code, error.description)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= largest {
            let got = Glibc.read(descriptor, &piece, piece.count)
            if got == 0 { return bytes }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw unreadable(file, errno) }
            bytes += piece.prefix(got)
        }
        throw HTTPFailure(
            .settingAnchorCertificatesFailed, "\(file) is too large for a file of certificates", phase: .tls)
    }

    static func unreadable(_ file: String, _ code: CInt, _ why: String? = nil) -> HTTPFailure {
        let reason = why ?? String(cString: strerror(code))
        let underlying = HTTPFailure.Underlying(.file, Int(code), reason)  // safe: CInt is narrower
        let text = "the trusted certificates in \(file) cannot be read: \(reason)"
        return HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls, underlying: underlying)
    }
}

/// Which states some files are in; a file that is replaced or changed has another one.
package struct FileStamps: Hashable, Sendable {
    private struct Stamp: Hashable, Sendable {
        var inode: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64
    }

    private let stamps: [Stamp?]

    private init(stamps: [Stamp?]) { self.stamps = stamps }

    func joined(_ others: FileStamps) -> FileStamps { FileStamps(stamps: stamps + others.stamps) }

    package init(_ paths: [String]) {
        stamps = paths.map { path in
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            return Stamp(
                inode: UInt64(clamping: status.st_ino), size: Int64(clamping: status.st_size),
                seconds: Int64(clamping: status.st_mtim.tv_sec), nanoseconds: Int64(clamping: status.st_mtim.tv_nsec))
        }
    }

    /// The same for the same files, and another text once one of the files changes.
    package var text: String {
        stamps.map { stamp in
            stamp.map { "\($0.inode) \($0.size) \($0.seconds) \($0.nanoseconds)" } ?? "none"
        }.joined(separator: ", ")
    }
}
