// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Random frames, legal and illegal, and random calls, in random order.
struct HTTP2ScheduleTests {
    private struct Player {
        var bench: HTTP2Bench
        var random: SeededRandom
        /// What the caller believes of its streams: begun and not ended.
        var live: [UInt32: HTTP2StreamID] = [:]
        var ended: Set<UInt32> = []
        var owed: [UInt32: Int] = [:]

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            bench = HTTP2Bench()
        }

        mutating func number(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

        mutating func stream() -> UInt32 {
            number(9) == 0 ? UInt32(number(12)) : live.keys.sorted().randomElement(using: &random) ?? UInt32(number(6))
        }

        mutating func payload(_ most: Int) -> [UInt8] {
            (0..<number(most)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }

        /// Mostly what an honest server sends.
        mutating func frame() {
            let stream = stream()
            let wild = number(60) == 0
            switch number(13) {
            case 0...2: bench.head(stream, [(":status", number(5) == 0 ? "103" : "200")], end: number(4) == 0)
            case 3...6: bench.data(stream, [UInt8](repeating: 1, count: number(3000)), end: number(4) == 0)
            case 7:
                bench.raw(
                    .windowUpdate, 0, number(1) == 0 ? 0 : stream, [0, 0, UInt8(number(40)), UInt8(1 + number(200))])
            case 8: bench.raw(.resetStream, 0, stream, [0, 0, 0, UInt8(number(14))])
            case 9: bench.raw(.ping, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
            case 10:
                bench.writer.settings([
                    (.initialWindowSize, UInt32(number(100_000))), (.maxConcurrentStreams, UInt32(number(50))),
                ])
            case 11: bench.head(stream, [("x-t", "1")], end: true)
            case 12: if number(40) == 0 { bench.raw(.goAway, 0, 0, [0, 0, 0, UInt8(number(200)), 0, 0, 0, 0]) }
            default: break
            }
            if wild {
                let kind = HTTP2FrameKind(rawValue: UInt8(number(12)))
                bench.raw(kind, UInt8(number(255)), stream, payload(30))
            }
        }

        mutating func call() {
            let id = live.values.sorted { $0.number < $1.number }.randomElement(using: &random)
            switch number(8) {
            case 0...2:
                let hasBody = number(2) == 0
                if let id = bench.begin(
                    hasBody ? "POST" : "GET", hasBody: hasBody, priority: number(3) == 0 ? .low : .normal)
                {
                    #expect(live[id.number] == nil && !ended.contains(id.number))
                    #expect(!live.values.contains { $0.slot == id.slot })
                    live[id.number] = id
                }
            case 3: if let id { bench.machine.bodyReady(id, number(50_000), isLast: number(2) == 0) }
            case 4: if let id { bench.machine.consumed(id, number(5000)) }
            case 5:
                if let id, number(3) == 0 {
                    bench.machine.cancel(id, now: bench.now)
                    live[id.number] = nil
                    ended.insert(id.number)
                }
            case 6:
                bench.now += Double(number(40)) / 10
                bench.machine.timePassed(bench.now)
            case 7: while bench.nextData() != nil {}
            default: if let id, number(9) == 0 { bench.machine.stopSending(id) }
            }
        }

        /// Each stream that the caller has not cancelled ends once, and says nothing behind its end.
        mutating func look() {
            for event in bench.took() {
                switch event {
                case .informational(let id, _), .response(let id, _, _, _), .body(let id, _):
                    #expect(live[id.number] == id || ended.contains(id.number))
                case .ended(let id, _), .broke(let id, _):
                    if live.removeValue(forKey: id.number) == nil { #expect(ended.contains(id.number)) }
                    ended.insert(id.number)
                case .capacity(let capacity): #expect((0...1000).contains(capacity))
                case .close:
                    #expect(live.isEmpty)
                    #expect(bench.isClosed)
                }
            }
        }
    }

    @Test(arguments: 1...60)
    func `every stream ends once, whatever comes`(seed: UInt64) {
        var player = Player(seed: seed)
        for _ in 0..<400 {
            for _ in 0...player.number(3) { player.call() }
            player.look()
            for _ in 0...player.number(4) { player.frame() }
            player.bench.flow(cut: [1, 9, 100, 5000][player.number(3)])
            player.look()
            let acks = player.bench.machine.unsentAcks
            let output = player.bench.machine.takeOutput { $0.count }
            player.bench.machine.written(acks)
            #expect(output < 1 << 20)
            if player.bench.isClosed { break }
        }
        player.bench.machine.closed()
        player.look()
        #expect(player.live.isEmpty && player.bench.openStreams == 0)
        #expect(player.bench.reserve.lend(64 << 20))
    }

    @Test(arguments: 1...40)
    func `bytes that are no frames end the connection or are ignored`(seed: UInt64) {
        var player = Player(seed: seed &* 7919)
        for _ in 0..<50 {
            player.call()
            player.look()
            let bytes = player.payload(300)
            bytes.withUnsafeBytes { player.bench.writer.output.append($0) }
            player.bench.flow()
            player.look()
        }
        player.bench.machine.closed()
        player.look()
        #expect(player.live.isEmpty)
    }
}
