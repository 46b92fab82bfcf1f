// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The expected digest of a file.
package struct Checksum: Sendable, Equatable {
    /// The names of RFC 9530 and of its registry, and `sha-384`, which is published as well.
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256 = "sha-256"
        case sha384 = "sha-384"
        case sha512 = "sha-512"
        case sha1 = "sha-1"
        case md5

        package var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            case .sha1: 20
            case .md5: 16
            }
        }

        /// Whether the algorithm is secure enough for digests from servers (RFC 9530 section 5).
        var isActive: Bool { self == .sha256 || self == .sha512 }
    }

    package var algorithm: Algorithm
    package var bytes: [UInt8]

    package init(_ algorithm: Algorithm, _ bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads hexadecimal or base64; nil for other text or another length.
    package init?(_ algorithm: Algorithm, text: String) {
        self.algorithm = algorithm
        if text.utf8.count == 2 * algorithm.byteCount {
            var bytes: [UInt8] = []
            var digits = text.utf8[...]
            while let high = digits.popFirst(), let low = digits.popFirst() {
                guard let high = PercentEncoding.value(high), let low = PercentEncoding.value(low) else { return nil }
                bytes.append(high << 4 | low)
            }
            self.bytes = bytes
            return
        }
        guard let bytes = Base64.decode(text), bytes.count == algorithm.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads an algorithm's name and a digest in hexadecimal or base64; the failure names the invalid member.
    package static func read(algorithm name: String, digest: String) -> Result<Checksum, Fault> {
        guard let algorithm = Algorithm(rawValue: name.lowercased()) else {
            let known = Algorithm.allCases.map(\.rawValue)
            return .failure(
                Fault(
                    message: "\(FieldRules.shown(name)) is no algorithm (use \(known.joined(separator: ", ")))",
                    known: known))
        }
        guard let checksum = Checksum(algorithm, text: digest) else {
            return .failure(
                Fault(message: "\(name) must be \(algorithm.byteCount) bytes in hexadecimal or base64", known: nil))
        }
        return .success(checksum)
    }

    /// Why an algorithm and a digest are invalid.
    package struct Fault: Error {
        package var message: String
        /// The names of the algorithms, if the name is not among them.
        package var known: [String]?
    }

    /// In hexadecimal.
    package var text: String { HexText.encode(bytes) }

    /// The digests of the whole file: Repr-Digest, and Content-Digest if the response holds the whole file; a
    /// dictionary of byte sequences (RFC 9530 section 2, RFC 8941 section 3.2). Only secure algorithms.
    package static func declared(_ fields: HTTPFields, isWhole: Bool) -> [Checksum] {
        read(fields.all("Repr-Digest") + (isWhole ? fields.all("Content-Digest") : []))
    }

    /// The digests of the response content (RFC 9530 section 2); of a 206, the content is the part.
    package static func ofContent(_ fields: HTTPFields) -> [Checksum] { read(fields.all("Content-Digest")) }

    private static func read(_ values: [String]) -> [Checksum] {
        var found: [Checksum] = []
        for item in values.flatMap(FieldRules.listed) {
            guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = String(FieldRules.trimmed(item[..<equals]))
            guard let algorithm = Algorithm(rawValue: key), algorithm.isActive else { continue }
            let value = item[item.utf8.index(after: equals)...].utf8.prefix { $0 != UInt8(ascii: ";") }
            let text = String(FieldRules.trimmed(Substring(value)))
            guard text.utf8.count > 2, text.hasPrefix(":"), text.hasSuffix(":") else { continue }
            guard let bytes = Base64.decode(String(text.dropFirst().dropLast())), bytes.count == algorithm.byteCount
            else { continue }
            let checksum = Checksum(algorithm, bytes)
            if !found.contains(checksum) { found.append(checksum) }
        }
        return found
    }

    /// The failure for a part that does not match the server's digest.
    package func mismatch(_ actual: [UInt8], in part: Range<Int64>) -> HTTPFailure {
        var failure = mismatch(actual)
        failure.message =
            "the \(algorithm.rawValue) of bytes \(part.lowerBound)-\(part.upperBound &- 1) is \(HexText.encode(actual)), "
            + "and the server's Content-Digest says \(text): they are not kept, and can be asked for again"
        return failure
    }

    /// The failure for a file that does not match the expected digest.
    package func mismatch(_ actual: [UInt8]) -> HTTPFailure {
        HTTPFailure(
            .checksumMismatch,
            "the \(algorithm.rawValue) of what arrived is \(HexText.encode(actual)), not \(text): the file is not kept",
            sent: .sent,
            details: [.algorithm(algorithm.rawValue), .expected(text), .actual(HexText.encode(actual))])
    }
}
