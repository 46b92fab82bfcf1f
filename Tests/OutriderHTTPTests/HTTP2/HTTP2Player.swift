// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

@testable import OutriderHTTP

/// Plays random frames, legal and illegal, and random calls against one connection, and notes what must not be. `scripts/fuzz`
/// links this file, so it needs no library of tests.
struct HTTP2Player {
    private let bench: HTTP2Bench
    private var random: SeededRandom
    /// One frame in so many is of any kind, with any payload.
    private let wildness: Int
    /// What the caller believes of its streams: begun and not ended, in the order of their numbers.
    private(set) var live: [HTTP2StreamID] = []
    private var ended: Set<UInt32> = []
    /// The number of the youngest stream; 0 before the first.
    private var begun: UInt32 = 0
    private(set) var faults: [String] = []
    private(set) var frames = 0
    /// The most bytes that waited to be written after one turn.
    private(set) var mostOutput = 0

    init(seed: UInt64, wildness: Int = 60) {
        random = SeededRandom(seed: seed)
        self.wildness = wildness
        bench = HTTP2Bench()
        bench.remembers = false
    }

    var isClosed: Bool { bench.isClosed }

    private mutating func expect(_ isSo: Bool, _ what: @autoclosure () -> String) {
        if !isSo { faults.append(what()) }
    }

    private mutating func number(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

    /// A stream that was begun, and in one of ten cases may have ended; nil before the first.
    private mutating func stream() -> UInt32? {
        if number(9) > 0, let id = live.randomElement(using: &random) { return id.number }
        return begun == 0 ? nil : UInt32(number(Int(begun / 2))) * 2 + 1
    }

    private mutating func payload(_ most: Int) -> [UInt8] {
        (0..<number(most)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    // MARK: the peer

    /// Mostly what an honest server sends.
    mutating func frame() {
        frames += 1
        if number(wildness) == 0 { return wild(UInt32(number(12))) }
        guard let stream = stream() else { return bench.raw(.ping, 1, 0, [1, 2, 3, 4, 5, 6, 7, 8]) }
        switch number(12) {
        case 0...2: bench.head(stream, [(":status", number(5) == 0 ? "103" : "200")], end: number(4) == 0)
        case 3...6: bench.data(stream, [UInt8](repeating: 1, count: number(3000)), end: number(4) == 0)
        case 7:
            bench.raw(.windowUpdate, 0, number(1) == 0 ? 0 : stream, [0, 0, UInt8(number(40)), UInt8(1 + number(200))])
        case 8: bench.raw(.resetStream, 0, stream, [0, 0, 0, UInt8(number(14))])
        case 9: bench.raw(.ping, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
        case 10:
            bench.writer.settings([
                (.initialWindowSize, UInt32(number(100_000))), (.maxConcurrentStreams, UInt32(number(50))),
            ])
        case 11: bench.head(stream, [("x-t", "1")], end: true)
        default:
            let last = UInt8(number(200))
            if number(wildness) == 0 {
                bench.raw(.goAway, 0, 0, [0, 0, 0, last, 0, 0, 0, 0])
            } else {
                bench.head(stream, [(":status", "200"), ("content-length", "\(last)")])
            }
        }
    }

    private mutating func wild(_ stream: UInt32) {
        let kind = HTTP2FrameKind(rawValue: UInt8(number(12)))
        switch number(3) {
        case 0:
            let text = payload(20).map { String(UnicodeScalar($0)) }.joined()
            bench.head(stream, [(":status", "200"), (text, text)], end: number(1) == 0)
        case 1:
            // a length that is not that of the payload: all that follows is read as something else
            bench.writer.head(kind, length: number(20_000), flags: UInt8(number(255)), stream: stream)
        default: bench.raw(kind, UInt8(number(255)), stream, payload(30))
        }
    }

    mutating func noise() {
        frames += 1
        payload(300).withUnsafeBytes { bench.writer.output.append($0) }
    }

    // MARK: the caller

    mutating func call() {
        let id = live.randomElement(using: &random)
        switch number(8) {
        case 0...2: begin(hasBody: number(2) == 0)
        case 3: if let id { bench.machine.bodyReady(id, number(50_000), isLast: number(2) == 0) }
        case 4: if let id { bench.machine.consumed(id, number(5000)) }
        case 5:
            if let id, number(3) == 0 {
                bench.machine.cancel(id, now: bench.now)
                live.removeAll { $0 == id }
                ended.insert(id.number)
            }
        case 6:
            bench.now += Double(number(40)) / 10
            bench.machine.timePassed(bench.now)
        case 7: while bench.nextData() != nil {}
        default: if let id { bench.machine.pauseSending(id, number(9) == 0) }
        }
    }

    private mutating func begin(hasBody: Bool) {
        let priority = number(3) == 0 ? RequestPriority.low : .normal
        guard let id = bench.begin(hasBody ? "POST" : "GET", hasBody: hasBody, priority: priority) else { return }
        let isNew = !ended.contains(id.number) && !live.contains { $0.number == id.number || $0.slot == id.slot }
        expect(isNew, "stream \(id.number) begins twice, or shares a slot")
        live.append(id)
        begun = id.number
    }

    // MARK: what is looked at

    /// Each stream that the caller has not cancelled ends once, and tells nothing behind its end.
    mutating func look() {
        for event in bench.took() {
            switch event {
            case .informational(let id, _), .response(let id, _, _, _), .body(let id, _):
                expect(live.contains(id) || ended.contains(id.number), "an event of the unknown stream \(id.number)")
            case .ended(let id, _), .broke(let id, _):
                if let place = live.firstIndex(where: { $0.number == id.number }) {
                    live.remove(at: place)
                } else {
                    expect(ended.contains(id.number), "the end of the unknown stream \(id.number)")
                }
                ended.insert(id.number)
            case .capacity(let capacity): expect((0...1000).contains(capacity), "a capacity of \(capacity)")
            case .close: expect(live.isEmpty && bench.isClosed, "a closed connection with streams")
            }
        }
    }

    /// One turn: calls, frames in pieces, and everything written.
    mutating func turn(of frames: Int) {
        for _ in 0...number(3) { call() }
        look()
        for _ in 0...number(frames) { frame() }
        deliver()
    }

    mutating func deliver() {
        let waiting = bench.writer.count
        bench.flow(cut: waiting < 1000 ? [1, 9, 100, 5000][number(3)] : 1 + number(5000))
        look()
        let acks = bench.machine.unsentAcks
        let output = bench.machine.takeOutput { $0.count }
        bench.machine.written(acks)
        mostOutput = max(mostOutput, output)
        expect(output < 1 << 20, "\(output) bytes to be written")
    }

    /// The connection ends, and nothing may be left.
    mutating func end() {
        bench.machine.closed()
        look()
        expect(live.isEmpty && bench.openStreams == 0, "streams without an end")
        expect(bench.reserve.lend(64 << 20), "windows that were lent and not given back")
    }
}
