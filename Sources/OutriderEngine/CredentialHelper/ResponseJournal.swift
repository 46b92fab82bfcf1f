// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A response as received, in pieces, each sealed with its number: after any interruption, the complete pieces stay
/// readable.
enum ResponseJournal {
    enum Piece {
        case head(attempt: UInt64, status: Int, retryAfter: Double?, sentAt: ClockPair)
        case body([UInt8])
        case end
    }

    /// Collects the pieces; after 1024 body pieces, merges small ones, since each piece on disk takes more than its
    /// content, and a body that arrives byte by byte would be too long to read back.
    struct Gathering {
        private static let mostSmall = 1024
        private static let leastBytes = 256

        private var count = 0
        private var bytes: [UInt8] = []

        /// The pieces to write now.
        mutating func take(_ piece: Piece) -> [Piece] {
            guard case .body(let more) = piece else {
                defer { bytes = [] }
                return bytes.isEmpty ? [piece] : [.body(bytes), piece]
            }
            bytes += more
            count += 1
            if count > Self.mostSmall, bytes.count < Self.leastBytes { return [] }
            defer { bytes = [] }
            return [.body(bytes)]
        }
    }

    private static let anyone = [UInt8](repeating: 0, count: 32)

    /// The length in four bytes, then the sealed piece.
    static func sealed(_ piece: Piece, number: Int, _ seal: Seal) -> [UInt8]? {
        var writer = PackedWriter()
        switch piece {
        case .head(let attempt, let status, let retryAfter, let sentAt):
            writer.put(1, attempt)
            writer.put(2, status)
            writer.put(3, retryAfter)
            writer.put(4, sentAt)
        case .body(let bytes): writer.put(5, bytes: bytes)
        case .end: writer.put(6, true)
        }
        let number = UInt64(exactly: number) ?? 0
        guard let bytes = seal.close(writer.bytes, .response, generation: number, identity: anyone) else { return nil }
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + bytes
    }

    /// The response from a journal; nil without a head.
    static func read(_ bytes: [UInt8], _ seal: Seal) -> TokenEndpointResponse? {
        var rest = bytes[...]
        var response: TokenEndpointResponse?
        var number: UInt64 = 0
        while rest.count > 4 {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count - 4 >= size, let opened = seal.open(rest.dropFirst(4).prefix(size), .response),
                opened.generation == number, let scanner = try? PackedScanner(opened.bytes)
            else { break }
            rest = rest.dropFirst(4 + size)
            number += 1
            if let body = scanner.bytes(5) {
                response?.body += body
            } else if let end = try? scanner.flag(6), end {
                response?.isComplete = true
                break
            } else {
                response = try? head(scanner)
            }
        }
        return response
    }

    private static func head(_ scanner: PackedScanner) throws(PackedFault) -> TokenEndpointResponse {
        TokenEndpointResponse(
            attempt: try scanner.number(1).orFault(), status: try scanner.integer(2).orFault(),
            retryAfter: try scanner.real(3), sentAt: try scanner.value(4).orFault(), body: [], isComplete: false)
    }
}
