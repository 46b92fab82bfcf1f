// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// An answer as it came, piece by piece, each sealed with its number: what of it is whole can be read after anything.
enum AnswerJournal {
    enum Piece {
        case head(attempt: UInt64, status: Int, retryAfter: Double?, asked: ClockPair)
        case body([UInt8])
        case end
    }

    /// Pieces as they come; after very many of them, small ones are put together, since each that is written down takes up more
    /// than what is in it, and what comes byte by byte would be too long to be read again.
    struct Gathering {
        private static let mostSmall = 1024
        private static let leastBytes = 256

        private var count = 0
        private var bytes: [UInt8] = []

        /// What is to be written down now.
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

    /// Its length in four bytes, then itself.
    static func sealed(_ piece: Piece, number: Int, _ seal: Seal) -> [UInt8]? {
        var writer = PackedWriter()
        switch piece {
        case .head(let attempt, let status, let retryAfter, let asked):
            writer.put(1, attempt)
            writer.put(2, status)
            writer.put(3, retryAfter)
            writer.put(4, asked)
        case .body(let bytes): writer.put(5, bytes: bytes)
        case .end: writer.put(6, true)
        }
        let number = UInt64(exactly: number) ?? 0
        guard let bytes = seal.close(writer.bytes, .response, generation: number, identity: anyone) else { return nil }
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + bytes
    }

    /// Nil if not even the head is there.
    static func read(_ bytes: [UInt8], _ seal: Seal) -> RotationAnswer? {
        var rest = bytes[...]
        var answer: RotationAnswer?
        var number: UInt64 = 0
        while rest.count > 4 {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count - 4 >= size, let opened = seal.open(rest.dropFirst(4).prefix(size), .response),
                opened.generation == number, let scanner = try? PackedScanner(opened.bytes)
            else { break }
            rest = rest.dropFirst(4 + size)
            number += 1
            if let body = scanner.bytes(5) {
                answer?.body += body
            } else if let end = try? scanner.flag(6), end {
                answer?.isComplete = true
                break
            } else {
                answer = try? head(scanner)
            }
        }
        return answer
    }

    private static func head(_ scanner: PackedScanner) throws(PackedFault) -> RotationAnswer {
        RotationAnswer(
            attempt: try scanner.number(1).orFault(), status: try scanner.integer(2).orFault(),
            retryAfter: try scanner.real(3), asked: try scanner.value(4).orFault(), body: [], isComplete: false)
    }
}
