// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides when a stream of bytes flows to a client, and in which pieces.
///
///     open ──source ended──▶ ended ──all delivered──▶ done
///       └──────────────close──┴──────────────────────▶ done
///
/// A push stream sends at most its credit, and holds back one chunk of the source beyond that. A pull stream holds up
/// to `readAhead` bytes and one chunk.
/// Responsible for: pieces, their numbers and offsets; how much is buffered.
/// Not responsible for: where bytes come from, and how events travel.
package struct StreamMachine: ~Copyable {
    /// Bytes in one event at most; its line then stays under 64 KiB in base64.
    package static let chunkBytes = 32768
    /// Bytes that a pull stream reads before it is asked.
    package static let readAhead = 65536
    /// The most credit that can add up: 2^53.
    package static let creditLimit = 9_007_199_254_740_992

    package enum Mode: Sendable, Equatable {
        case push(credit: Int)
        case pull
    }

    /// Some bytes of the stream, and where they stand.
    package struct Piece: Equatable, Sendable {
        package var bytes: [UInt8]
        package var offset: Int
        package var sequence: Int
    }

    /// What the runner should do.
    package enum Step: Equatable {
        case fetch
        case send(Piece)
        /// The last event: its number, and how many bytes there were.
        case end(sequence: Int, size: Int)
        case wait
        case stop
    }

    /// What a read gets.
    package enum Read: Equatable {
        case piece(Piece, end: Bool)
        case wait
        case wrongMode
        case stop
    }

    private enum Phase { case open, ended, done }

    private let isPush: Bool
    private var phase = Phase.open
    private var credit: Int
    private var buffer: [UInt8] = []
    /// Bytes of the buffer that are delivered.
    private var head = 0
    private var offset = 0
    private var sequence = 0
    /// How long the whole will be, where the source knows: the last piece then says that it is the last.
    private let size: Int?

    package init(_ mode: Mode, size: Int? = nil) {
        self.size = size
        switch mode {
        case .push(let credit):
            isPush = true
            self.credit = credit
        case .pull:
            isPush = false
            credit = 0
        }
    }

    // MARK: the source

    package mutating func step() -> Step {
        switch phase {
        case .done: return .stop
        case .open where buffered == 0: return .fetch
        case .open where !isPush: return buffered < Self.readAhead ? .fetch : .wait
        case .ended where isPush && buffered == 0:
            phase = .done
            return .end(sequence: sequence, size: offset)
        case .open, .ended:
            guard isPush, credit > 0 else { return .wait }
            let piece = take(min(credit, Self.chunkBytes))
            credit -= piece.bytes.count
            return .send(piece)
        }
    }

    package mutating func received(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        if head > 0 {
            buffer.removeFirst(head)
            head = 0
        }
        buffer.append(contentsOf: bytes)
    }

    package mutating func sourceEnded() {
        if phase == .open { phase = .ended }
    }

    // MARK: the client

    /// Adds credit; returns what there is now, or nil for a pull stream.
    package mutating func grant(_ bytes: Int) -> Int? {
        guard isPush else { return nil }
        credit = min(credit.addingReportingOverflow(bytes).partialValue, Self.creditLimit)
        return credit
    }

    package mutating func read(upTo limit: Int) -> Read {
        if isPush { return .wrongMode }
        switch phase {
        case .done: return .stop
        case .open where buffered == 0 && size != offset: return .wait
        case .open, .ended:
            let piece = take(limit)
            let end = buffered == 0 && (phase == .ended || size == offset)
            if end { phase = .done }
            return .piece(piece, end: end)
        }
    }

    /// A read whose time is over without a byte.
    package mutating func readNothing() -> Piece { take(0) }

    package mutating func close() {
        phase = .done
        buffer = []
        head = 0
    }

    private var buffered: Int { buffer.count - head }

    private mutating func take(_ limit: Int) -> Piece {
        let count = min(limit, buffered)
        let piece = Piece(bytes: Array(buffer[head..<head + count]), offset: offset, sequence: sequence)
        head += count
        offset += count
        sequence += 1
        return piece
    }
}
