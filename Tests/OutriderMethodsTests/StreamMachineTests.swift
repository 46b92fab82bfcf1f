// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@testable import OutriderMethods

/// What a machine wanted, to compare.
private enum Wish: Equatable {
    case fetch, wait, stop, wrongMode
    case send(String, at: Int, number: Int)
    case read(String, at: Int, number: Int, end: Bool)
    case end(sequence: Int, size: Int)
}

extension StreamMachine {
    fileprivate mutating func wish() -> Wish {
        switch step() {
        case .fetch: .fetch
        case .wait: .wait
        case .stop: .stop
        case .send(let piece): .send(piece.text, at: piece.offset, number: piece.sequence)
        case .end(let sequence, let size): .end(sequence: sequence, size: size)
        }
    }

    fileprivate mutating func reading(_ limit: Int) -> Wish {
        switch read(upTo: limit) {
        case .wait: .wait
        case .stop: .stop
        case .wrongMode: .wrongMode
        case .piece(let piece, let end): .read(piece.text, at: piece.offset, number: piece.sequence, end: end)
        }
    }
}

extension StreamMachine.Piece {
    fileprivate var data: [UInt8] {
        items.flatMap { item in if case .data(let bytes) = item.content { bytes } else { [UInt8]() } }
    }

    fileprivate var text: String { String(decoding: data, as: UTF8.self) }
}

struct StreamMachineTests {

    @Test func `a push stream sends no more than its credit`() {
        var machine = StreamMachine(.push(credit: 3))
        #expect(machine.wish() == .fetch)
        machine.feed(Array("abcde".utf8))
        #expect(machine.wish() == .send("abc", at: 0, number: 0))
        #expect(machine.wish() == .wait)
        #expect(machine.grant(1) == 1)
        #expect(machine.wish() == .send("d", at: 3, number: 1))
        #expect(machine.wish() == .wait)
    }

    @Test func `without credit a push stream holds one chunk and asks for no more`() {
        var machine = StreamMachine(.push(credit: 0))
        #expect(machine.wish() == .fetch)
        machine.feed([1])
        #expect(machine.wish() == .wait)
    }

    @Test func `a push stream ends with the number of its events and of its bytes`() {
        var machine = StreamMachine(.push(credit: 10))
        machine.feed(Array("ab".utf8))
        machine.sourceEnded()
        #expect(machine.wish() == .send("ab", at: 0, number: 0))
        #expect(machine.wish() == .end(sequence: 1, size: 2))
        #expect(machine.wish() == .stop)
    }

    @Test func `an empty push stream ends without credit`() {
        var machine = StreamMachine(.push(credit: 0))
        machine.sourceEnded()
        #expect(machine.wish() == .end(sequence: 0, size: 0))
    }

    @Test func `no piece that is pushed is longer than a chunk`() {
        var machine = StreamMachine(.push(credit: 1_000_000))
        machine.feed([UInt8](repeating: 0, count: 70_000))
        var lengths: [Int] = []
        while case .send(let piece) = machine.step() { lengths.append(piece.bytes) }
        #expect(lengths == [32768, 32768, 4464])
    }

    @Test func `credit adds up and never overflows`() {
        var machine = StreamMachine(.push(credit: StreamMachine.creditLimit))
        #expect(machine.grant(StreamMachine.creditLimit) == StreamMachine.creditLimit)
    }

    @Test func `credit means nothing to a pull stream, and reading nothing to a push stream`() {
        var pull = StreamMachine(.pull)
        #expect(pull.grant(1) == nil)
        var push = StreamMachine(.push(credit: 1))
        #expect(push.reading(1) == .wrongMode)
    }

    @Test func `a pull stream reads ahead so far and no further`() {
        var machine = StreamMachine(.pull)
        while machine.wish() == .fetch { machine.feed([UInt8](repeating: 0, count: 1000)) }
        #expect(machine.wish() == .wait)
        guard case .piece(let piece, end: false) = machine.read(upTo: 1_000_000) else {
            Issue.record("nothing to read")
            return
        }
        #expect((StreamMachine.readAhead..<StreamMachine.readAhead + 1000).contains(piece.bytes))
        #expect(machine.wish() == .fetch)
    }

    @Test func `a read takes what it asks for, and the last one says so when the size is known`() throws {
        var machine = StreamMachine(.pull)
        try machine.begin(contentType: nil, size: 4)
        #expect(machine.reading(3) == .wait)
        machine.feed(Array("abcd".utf8))
        #expect(machine.reading(3) == .read("abc", at: 0, number: 0, end: false))
        #expect(machine.reading(3) == .read("d", at: 3, number: 1, end: true))
        #expect(machine.reading(3) == .stop)
    }

    @Test func `the end of an unknown size is a piece without bytes`() {
        var machine = StreamMachine(.pull)
        machine.feed(Array("a".utf8))
        #expect(machine.reading(3) == .read("a", at: 0, number: 0, end: false))
        machine.sourceEnded()
        #expect(machine.reading(3) == .read("", at: 1, number: 1, end: true))
    }

    @Test func `nothing comes out of a stream that was closed`() {
        var machine = StreamMachine(.push(credit: 10))
        machine.feed([1, 2])
        machine.close()
        machine.feed([3])
        #expect(machine.wish() == .stop)
    }

    @Test(arguments: 0..<50) func `whatever the pieces, every byte arrives once and in order`(seed: UInt64) {
        var random = SmallRandom(state: seed)
        let sent = (0..<Int.random(in: 0...100_000, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var machine = StreamMachine(.push(credit: 0))
        var given = 0
        var received: [UInt8] = []
        loop: while true {
            switch machine.step() {
            case .fetch where given == sent.count: machine.sourceEnded()
            case .fetch:
                let count = min(Int.random(in: 1...40_000, using: &random), sent.count - given)
                machine.feed(Array(sent[given..<given + count]))
                given += count
            case .wait: _ = machine.grant(Int.random(in: 1...50_000, using: &random))
            case .send(let piece):
                #expect(piece.offset == received.count)
                received += piece.data
            case .end(_, let size):
                #expect(size == sent.count)
                break loop
            case .stop:
                Issue.record("stopped before the end")
                break loop
            }
        }
        #expect(received == sent)
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SmallRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
