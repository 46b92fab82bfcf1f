// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderMethods

struct StreamMachineTests {
    private func piece(_ text: String, at offset: Int, number: Int) -> StreamMachine.Piece {
        StreamMachine.Piece(bytes: Array(text.utf8), offset: offset, sequence: number)
    }

    @Test func `a push stream sends no more than its credit`() {
        var machine = StreamMachine(.push(credit: 3))
        #expect(machine.step() == .fetch)
        machine.received(Array("abcde".utf8))
        #expect(machine.step() == .send(piece("abc", at: 0, number: 0)))
        #expect(machine.step() == .wait)
        #expect(machine.grant(1) == 1)
        #expect(machine.step() == .send(piece("d", at: 3, number: 1)))
        #expect(machine.step() == .wait)
    }

    @Test func `without credit a push stream holds one chunk and asks for no more`() {
        var machine = StreamMachine(.push(credit: 0))
        #expect(machine.step() == .fetch)
        machine.received([1])
        #expect(machine.step() == .wait)
    }

    @Test func `a push stream ends with the number of its events and of its bytes`() {
        var machine = StreamMachine(.push(credit: 10))
        machine.received(Array("ab".utf8))
        machine.sourceEnded()
        #expect(machine.step() == .send(piece("ab", at: 0, number: 0)))
        #expect(machine.step() == .end(sequence: 1, size: 2))
        #expect(machine.step() == .stop)
    }

    @Test func `an empty push stream ends without credit`() {
        var machine = StreamMachine(.push(credit: 0))
        machine.sourceEnded()
        #expect(machine.step() == .end(sequence: 0, size: 0))
    }

    @Test func `no piece that is pushed is longer than a chunk`() {
        var machine = StreamMachine(.push(credit: 1_000_000))
        machine.received([UInt8](repeating: 0, count: 70_000))
        var lengths: [Int] = []
        while case .send(let piece) = machine.step() { lengths.append(piece.bytes.count) }
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
        #expect(push.read(upTo: 1) == .wrongMode)
    }

    @Test func `a pull stream reads ahead so far and no further`() {
        var machine = StreamMachine(.pull)
        while machine.step() == .fetch { machine.received([UInt8](repeating: 0, count: 1000)) }
        #expect(machine.step() == .wait)
        guard case .piece(let piece, end: false) = machine.read(upTo: 1_000_000) else {
            Issue.record("nothing to read")
            return
        }
        #expect((StreamMachine.readAhead..<StreamMachine.readAhead + 1000).contains(piece.bytes.count))
        #expect(machine.step() == .fetch)
    }

    @Test func `a read takes what it asks for, and the last one says so when the size is known`() {
        var machine = StreamMachine(.pull, size: 4)
        #expect(machine.read(upTo: 3) == .wait)
        machine.received(Array("abcd".utf8))
        #expect(machine.read(upTo: 3) == .piece(piece("abc", at: 0, number: 0), end: false))
        #expect(machine.read(upTo: 3) == .piece(piece("d", at: 3, number: 1), end: true))
        #expect(machine.read(upTo: 3) == .stop)
    }

    @Test func `the end of an unknown size is a piece without bytes`() {
        var machine = StreamMachine(.pull)
        machine.received(Array("a".utf8))
        #expect(machine.read(upTo: 3) == .piece(piece("a", at: 0, number: 0), end: false))
        machine.sourceEnded()
        #expect(machine.read(upTo: 3) == .piece(piece("", at: 1, number: 1), end: true))
    }

    @Test func `nothing comes out of a stream that was closed`() {
        var machine = StreamMachine(.push(credit: 10))
        machine.received([1, 2])
        machine.close()
        machine.received([3])
        #expect(machine.step() == .stop)
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
                machine.received(Array(sent[given..<given + count]))
                given += count
            case .wait: _ = machine.grant(Int.random(in: 1...50_000, using: &random))
            case .send(let piece):
                #expect(piece.offset == received.count)
                received += piece.bytes
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
