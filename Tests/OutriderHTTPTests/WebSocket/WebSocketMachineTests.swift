// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// A frame of a server, in the shortest form.
func serverFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0) -> [UInt8] {
    var frame: [UInt8] = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
    if payload.count <= 125 {
        frame.append(UInt8(payload.count))
    } else if payload.count <= 65535 {
        frame += [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    } else {
        frame.append(127)
        for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8(payload.count >> shift & 255)) }
    }
    return frame + payload
}

private func text(_ text: String, isFinal: Bool = true) -> [UInt8] {
    serverFrame(1, Array(text.utf8), isFinal: isFinal)
}

/// What a machine makes of the bytes, given in pieces of that size.
private func arrivals(
    _ bytes: [UInt8], pieces: Int = .max, maxMessage: Int = 1 << 20, inflater: (any MessageInflating)? = nil
) -> AllArrivals {
    var machine = WebSocketMachine(maxMessage: maxMessage, inflater: inflater)
    var all = AllArrivals()
    var start = 0
    while start < bytes.count {
        let end = min(bytes.count, start + min(pieces, bytes.count))
        bytes[start..<end].withUnsafeBytes { all.receive($0, &machine, mask: 0x0102_0304) }
        start = end
    }
    return all
}

private func messages(_ arrivals: AllArrivals) -> [String] {
    var scanner = MessageRecordScanner(longest: 1 << 24)
    scanner.feed(arrivals.records)
    var found: [String] = []
    while let record = try? scanner.next() {
        found.append(record.kind == .text ? String(decoding: record.payload, as: UTF8.self) : "\(record.payload)")
    }
    return found
}

private func failure(_ arrivals: AllArrivals) -> Int? {
    if case .failed(let fault)? = arrivals.end { fault.code } else { nil }
}

struct WebSocketMachineTests {
    @Test(arguments: [1, 2, 3, 7, 1001, 40_000, 131_072, Int.max])
    func `messages are the same however the bytes are cut`(_ pieces: Int) {
        let long = String(repeating: "é", count: 40_000)
        let bytes =
            text("hi") + serverFrame(2, [1, 2, 3]) + text("") + text("fr", isFinal: false)
            + serverFrame(9, [1]) + serverFrame(0, Array("ag".utf8), isFinal: false)
            + serverFrame(0, Array("ment".utf8))
            + text(long) + text("short") + text(long) + text("a") + text("b") + text(long)
            + serverFrame(8, [0x03, 0xE8] + Array("bye".utf8)) + text("never")
        let found = arrivals(bytes, pieces: pieces)
        #expect(messages(found) == ["hi", "[1, 2, 3]", "", "fragment", long, "short", long, "a", "b", long])
        #expect(found.end == .closed(code: 1000, reason: "bye"))
    }

    @Test(arguments: [
        ([0x81, 0x82, 0, 0, 0, 0, 1, 1], 1002), ([0x83, 0], 1002), ([0x8B, 0], 1002), ([0xC1, 0], 1002),
        ([0x09, 0], 1002), ([0x89, 126, 0, 126], 1002), ([0x82, 126, 0, 125], 1002),
        ([0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002), ([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1009),
        ([0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0], 1009), ([0x80, 0], 1002), ([0x01, 0, 0x01, 0], 1002),
        ([0x88, 1, 3], 1002), ([0x88, 2, 0x03, 0xEE], 1002), ([0x88, 3, 0x03, 0xE8, 0xFF], 1007),
        ([0x81, 2, 0xC0, 0xAF], 1007), ([0x81, 1, 0xE2], 1007), ([0x01, 3, 0xED, 0xA0, 0x80], 1007),
    ])
    func `broken frames fail with their code`(_ bytes: [UInt8], _ code: Int) {
        for pieces in [1, Int.max] {
            let found = arrivals(bytes, pieces: pieces)
            #expect(failure(found) == code)
            #expect(found.frames.first == 0x88)
            #expect(messages(found).isEmpty)
        }
    }

    @Test func `a message may be as long as the limit and no longer`() {
        #expect(messages(arrivals(serverFrame(2, [UInt8](repeating: 1, count: 16)), maxMessage: 16)).count == 1)
        #expect(failure(arrivals(serverFrame(2, [UInt8](repeating: 1, count: 17)), maxMessage: 16)) == 1009)
        let fragments = text("0123456789", isFinal: false) + serverFrame(0, Array("0123456".utf8))
        #expect(failure(arrivals(fragments, maxMessage: 16)) == 1009)
    }

    @Test func `endless empty fragments are refused`() {
        let bytes = text("", isFinal: false) + (0..<2000).flatMap { _ in serverFrame(0, [], isFinal: false) }
        #expect(failure(arrivals(bytes)) == 1008)
    }

    @Test func `a ping gets its pong, and under pressure the newest one only`() {
        var machine = WebSocketMachine(maxMessage: 100)
        var found = WebSocketArrivals()
        let first = serverFrame(9, [1])
        first.withUnsafeBytes { machine.received($0, nextMask: { 0 }, into: &found) }
        #expect(found.frames == [0x8A, 0x81, 0, 0, 0, 0, 1])
        found = WebSocketArrivals()
        let many = serverFrame(9, [2]) + serverFrame(9, [3])
        many.withUnsafeBytes { machine.received($0, isCongested: true, nextMask: { 0 }, into: &found) }
        #expect(found.frames.isEmpty)
        var frames: [UInt8] = []
        machine.drained(mask: 0, to: &frames)
        #expect(frames == [0x8A, 0x81, 0, 0, 0, 0, 3])
    }

    @Test func `a pong that is owed follows the Close frame of the client, and not that of the server`() {
        var machine = WebSocketMachine(maxMessage: 100)
        var found = WebSocketArrivals()
        serverFrame(9, [2]).withUnsafeBytes { machine.received($0, isCongested: true, nextMask: { 0 }, into: &found) }
        var frames: [UInt8] = []
        let owes = machine.owesPong
        #expect(owes)
        #expect(machine.close(1000, "", mask: 0, to: &frames))
        frames = []
        machine.drained(mask: 0, to: &frames)
        #expect(frames == [0x8A, 0x81, 0, 0, 0, 0, 2])
        let rest = serverFrame(9, [3]) + serverFrame(8, [])
        rest.withUnsafeBytes { machine.received($0, isCongested: true, nextMask: { 0 }, into: &found) }
        frames = []
        machine.drained(mask: 0, to: &frames)
        #expect(frames.isEmpty)
    }

    @Test func `the client closes first, and messages before the server's Close count`() {
        var machine = WebSocketMachine(maxMessage: 100)
        var frames: [UInt8] = []
        #expect(machine.close(1000, "", mask: 0, to: &frames))
        #expect(frames == [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
        #expect(!machine.close(1000, "", mask: 0, to: &frames))
        #expect(![UInt8]().withUnsafeBytes { machine.send(.text, $0, mask: 0, to: &frames) })
        var found = AllArrivals()
        let rest = text("late") + serverFrame(9, [1]) + serverFrame(8, [])
        rest.withUnsafeBytes { found.receive($0, &machine, mask: 0) }
        #expect(messages(found) == ["late"])
        #expect(found.frames == [0x8A, 0x81, 0, 0, 0, 0, 1])
        #expect(found.end == .closed(code: nil, reason: ""))
        #expect(machine.lost() == nil)
    }

    @Test func `the end of TCP is told once`() {
        var machine = WebSocketMachine(maxMessage: 100)
        #expect(machine.lost() == .lost(wasClosing: false))
        #expect(machine.lost() == nil)
    }

    @Test func `random bytes never trap`() {
        var random = SeededRandom(seed: 17)
        for _ in 0..<3000 {
            let count = Int.random(in: 0...60, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let whole = arrivals(bytes, maxMessage: 50)
            let cut = arrivals(bytes, pieces: 1, maxMessage: 50)
            #expect(messages(whole) == messages(cut))
            #expect(whole.end == cut.end)
        }
    }
}
