// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@testable import OutriderMethods

/// What a machine wanted, to compare.
private enum Wish: Equatable {
    case fetch, wait, stop, wrongMode, make
    case send(String, at: Int, number: Int)
    case read(String, at: Int, number: Int, end: Bool)
    case end(sequence: Int, size: Int)
}

extension StreamMachine {
    fileprivate mutating func wish() -> Wish {
        switch step() {
        case .fetch: .fetch
        case .make: .make
        case .wait: .wait
        case .stop: .stop
        case .send(let piece): .send(piece.text, at: piece.offset, number: piece.sequence)
        case .end(let sequence, let size): .end(sequence: sequence, size: size)
        }
    }

    fileprivate mutating func reading(_ limit: Int) -> Wish {
        switch read(upTo: limit) {
        case .make: .make
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

    fileprivate var text: String {
        if case .data? = items.first?.content { return String(decoding: data, as: UTF8.self) }
        return items.map(\.shown).joined(separator: " ")
    }
}

extension StreamItem {
    fileprivate var shown: String {
        switch content {
        case .data(let bytes): "\(bytes)"
        case .text(let text), .value(let text), .members(let text): String(decoding: text.bytes, as: UTF8.self)
        case .failed(let failure): "\(failure.kind)"
        case .unmade, .state: "unmade"
        }
    }
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
        // a read that waited behind the last one ends as well
        #expect(machine.reading(3) == .read("", at: 4, number: 2, end: true))
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

    @Test func `an item that is longer than the credit comes whole, and the rest is owed`() {
        var machine = StreamMachine(.push(credit: 2), LineItems())
        machine.feed(Array("abc\nd\n".utf8))
        #expect(machine.wish() == .send(#""abc""#, at: 0, number: 0))
        #expect(machine.wish() == .wait)
        #expect(machine.grant(2) == 0)
        #expect(machine.wish() == .wait)
        #expect(machine.grant(1) == 1)
        #expect(machine.wish() == .send(#""d""#, at: 4, number: 1))
        #expect(machine.wish() == .fetch)
    }

    @Test func `a push stream goes on fetching until it holds a whole item, credit or not`() {
        var machine = StreamMachine(.push(credit: 0), LineItems())
        machine.feed(Array("ab".utf8))
        #expect(machine.wish() == .fetch)
        machine.feed(Array("c\n".utf8))
        #expect(machine.wish() == .wait)
    }

    @Test func `an item that is wrong is the last where that was asked for`() {
        var machine = StreamMachine(.push(credit: 100), JSONItems(), endsOnError: true)
        machine.feed(Array("1 ] 2\n3\n".utf8))
        #expect(machine.wish() == .send("1", at: 0, number: 0))
        #expect(machine.wish() == .send("jsonSerializationFailed", at: 1, number: 1))
        #expect(machine.wish() == .end(sequence: 2, size: 3))
        #expect(machine.failure?.kind == .explicitlyCancelled)
    }

    @Test func `a batch holds what is there, and an item that is wrong comes alone`() {
        var machine = StreamMachine(.push(credit: 100), LineItems(.json), isBatched: true)
        machine.feed(Array("1\n2\n]\n3\n".utf8))
        #expect(machine.wish() == .send("1 2", at: 0, number: 0))
        #expect(machine.wish() == .send("jsonSerializationFailed", at: 4, number: 1))
        #expect(machine.wish() == .send("3", at: 6, number: 2))
    }

    private static let long = "\"" + String(repeating: "a", count: 100_000) + "\""

    /// Does what a runner does with a long item.
    private static func make(_ machine: inout StreamMachine) {
        switch machine.step() {
        case .make(let work): machine.made(work())
        default: Issue.record("there is nothing to make")
        }
    }

    @Test func `a long item is made between what stands before it and behind it`() {
        let long = Self.long
        var machine = StreamMachine(.push(credit: 1_000_000), JSONItems(), isBatched: true)
        machine.feed(Array("1 2 \(long) 3".utf8))
        machine.bodyEnded()
        machine.sourceEnded()
        #expect(machine.wish() == .send("1 2", at: 0, number: 0))
        // a read that comes twice is told twice, and nothing overtakes it
        #expect(machine.wish() == .make)
        Self.make(&machine)
        #expect(machine.wish() == .send(long, at: 3, number: 1))
        #expect(machine.wish() == .send("3", at: 4 + long.utf8.count, number: 2))
        #expect(machine.wish() == .end(sequence: 3, size: 6 + long.utf8.count))
    }

    @Test func `a long item waits for credit, which it then takes as others do`() {
        let long = Self.long
        var machine = StreamMachine(.push(credit: 1), JSONItems())
        machine.feed(Array("1 \(long)".utf8))
        #expect(machine.wish() == .send("1", at: 0, number: 0))
        #expect(machine.wish() == .wait)
        #expect(machine.grant(1) == 1)
        Self.make(&machine)
        #expect(machine.wish() == .send(long, at: 1, number: 1))
        // what it took too much is owed
        #expect(machine.grant(long.utf8.count) == 0)
        #expect(machine.grant(1) == 1)
        #expect(machine.wish() == .fetch)
    }

    @Test func `a long item that is read is made first, and stays for the next read`() {
        let long = Self.long
        var machine = StreamMachine(.pull, JSONItems())
        machine.feed(Array("1 \(long)".utf8))
        machine.bodyEnded()
        machine.sourceEnded()
        #expect(machine.reading(10) == .read("1", at: 0, number: 0, end: false))
        guard case .make(let work) = machine.read(upTo: 10) else {
            Issue.record("there is nothing to make")
            return
        }
        #expect(machine.reading(10) == .make)
        machine.made(work())
        #expect(machine.reading(10) == .read(long, at: 1, number: 1, end: true))
    }

    @Test func `what is made for a stream that was closed meanwhile goes nowhere`() {
        var machine = StreamMachine(.push(credit: 1_000_000), JSONItems())
        machine.feed(Array(Self.long.utf8))
        guard case .make(let work) = machine.step() else {
            Issue.record("there is nothing to make")
            return
        }
        machine.close()
        machine.made(work())
        #expect(machine.wish() == .stop)
    }

    @Test func `a long item that is wrong, or too long for its client, is told in its place`() {
        let wrong = "[" + String(repeating: "x", count: 100_000) + "]"
        var machine = StreamMachine(.push(credit: 1_000_000), JSONItems(), longest: 90_000)
        machine.feed(Array("\(wrong) \(Self.long) 3 ".utf8))
        Self.make(&machine)
        #expect(machine.wish() == .send("jsonSerializationFailed", at: 0, number: 0))
        Self.make(&machine)
        #expect(machine.wish() == .send("limitExceeded", at: wrong.utf8.count, number: 1))
        #expect(machine.wish() == .send("3", at: wrong.utf8.count + 1 + Self.long.utf8.count, number: 2))
    }

    @Test func `what there is no credit for does not hold up the end of what was cancelled`() {
        var machine = StreamMachine(.push(credit: 1))
        machine.feed([1, 2, 3])
        _ = machine.step()
        machine.sourceEnded(HTTPFailure(.explicitlyCancelled, "enough"))
        #expect(machine.wish() == .end(sequence: 1, size: 1))
        // but what broke otherwise ends behind all that came
        var broken = StreamMachine(.push(credit: 1))
        broken.feed([1, 2, 3])
        _ = broken.step()
        broken.sourceEnded(HTTPFailure(.connectionLost, "gone"))
        #expect(broken.wish() == .wait)
        _ = broken.grant(2)
        _ = broken.step()
        #expect(broken.wish() == .end(sequence: 2, size: 3))
    }

    @Test func `bytes become other items as long as nothing was delivered`() throws {
        var machine = StreamMachine(.pull)
        try machine.begin(contentType: "text/plain; charset=iso-8859-1", size: 4)
        machine.feed([0xE9, 0x0A])
        machine.feed([0xE8, 0x0A])
        machine.bodyEnded()
        machine.sourceEnded()
        let didBecome = machine.become(LineItems())
        #expect(didBecome)
        #expect(machine.reading(100) == .read(#""\u00e9" "\u00e8""#, at: 0, number: 0, end: true))
        var late = StreamMachine(.pull)
        late.feed([1, 2])
        _ = late.read(upTo: 1)
        let isTooLate = !late.become(LineItems())
        #expect(isTooLate)
    }

    @Test func `an item that does not fit into the longest message is an error in its place`() {
        var machine = StreamMachine(.push(credit: 10_000), LineItems(), longest: 1024)
        machine.feed(Array((String(repeating: "x", count: 600) + "\ny\n").utf8))
        #expect(machine.wish() == .send("limitExceeded", at: 0, number: 0))
        #expect(machine.wish() == .send(#""y""#, at: 601, number: 1))
    }

    @Test(arguments: 0..<50) func `whatever the schedule, each line arrives once, within credit and one line`(
        seed: UInt64
    ) {
        var random = SmallRandom(state: seed)
        let lines = (0..<Int.random(in: 0...300, using: &random)).map { number in
            String(repeating: "x", count: Int.random(in: 0...200, using: &random)) + "\(number)"
        }
        let sent = Array(lines.map { $0 + "\n" }.joined().utf8)
        let isBatched = Bool.random(using: &random)
        var machine = StreamMachine(.push(credit: 0), LineItems(), isBatched: isBatched)
        var (given, granted, taken) = (0, 0, 0)
        var received: [String] = []
        loop: while true {
            switch machine.step() {
            case .fetch where given == sent.count:
                machine.bodyEnded()
                machine.sourceEnded()
            case .fetch:
                let count = min(Int.random(in: 1...500, using: &random), sent.count - given)
                machine.feed(Array(sent[given..<given + count]))
                given += count
            case .wait:
                let more = Int.random(in: 0...300, using: &random)
                granted += more
                _ = machine.grant(more)
            case .send(let piece):
                #expect(piece.offset == taken)
                #expect(taken < granted)
                taken += piece.bytes
                #expect(taken - granted < 205)
                #expect(piece.items.count == 1 || isBatched)
                received += piece.items.map { item in item.shown.filter { $0 != "\"" } }
            case .end(_, let size):
                #expect(size == sent.count)
                break loop
            case .make, .stop:
                Issue.record("stopped before the end")
                break loop
            }
        }
        #expect(received == lines)
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
            case .make, .stop:
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
