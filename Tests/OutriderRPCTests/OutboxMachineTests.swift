// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

final class Outbox {
    private var machine: OutboxMachine

    init(event: Int = 1 << 20, pause: Int = 8 << 20, close: Int = 64 << 20) {
        var limits = OutboxLimits()
        limits.eventBytes = event
        limits.pauseBytes = pause
        limits.closeBytes = close
        machine = OutboxMachine(limits: limits)
    }

    /// An event of exactly so many bytes on the wire.
    static func frame(_ name: String, bytes: Int = 0) -> OutgoingFrame {
        let empty = Outgoing.event(Event(name, JSONNothing())).frame(.line)
        let pad = max(0, bytes - empty.count)
        let event = Event(name, JSONText(written: Array("{\(String(repeating: " ", count: pad))}".utf8)))
        return Outgoing.event(event).frame(.line)
    }

    func push(_ name: String, bytes: Int = 0) -> OutboxMachine.Push { machine.push(Self.frame(name, bytes: bytes)) }

    func offer(_ name: String, key: String, bytes: Int = 0) -> Bool {
        machine.offer(Self.frame(name, bytes: bytes), key: key)
    }

    func push(_ frame: OutgoingFrame) -> OutboxMachine.Push { machine.push(frame) }
    func nextPiece(most: Int) -> OutgoingPiece? { machine.next(most: most) }
    func next() -> OutgoingFrame? { machine.next(most: .max)?.frame }
    func next(most: Int) -> String? {
        var bytes: [UInt8] = []
        guard let piece = machine.next(most: most) else { return nil }
        piece.forEach { bytes.append(contentsOf: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
    func resumes() -> Bool { machine.resumes() }
    func takeDropped() -> Int? { machine.takeDropped() }
    func check(unwritten: Int) -> OutboxMachine.Check { machine.check(unwritten: unwritten) }
    func lastWord(_ frame: OutgoingFrame) { machine.lastWord(frame) }
    var hasRoom: Bool { machine.hasRoom }
    var isEmpty: Bool { machine.isEmpty }
    var isQuiet: Bool { machine.isQuiet }
    var bytes: Int { machine.bytes }

    /// Everything that comes out, by name.
    func drain() -> [String] {
        var names: [String] = []
        while let frame = next() {
            let text = String(decoding: frame.bytes, as: UTF8.self)
            names.append(text.split(separator: "\"")[7].description)
        }
        return names
    }
}

struct OutboxMachineTests {
    @Test func `what is queued first goes out first, of whatever kind`() {
        let outbox = Outbox()
        #expect(outbox.push("a") == .queued)
        #expect(outbox.offer("b", key: "k"))
        #expect(outbox.push("c") == .queued)
        #expect(outbox.drain() == ["a", "b", "c"])
        #expect(outbox.isEmpty && outbox.isQuiet)
        #expect(outbox.drain() == [])
    }

    @Test func `a newer event replaces an older one of the same key, in its own place`() {
        let outbox = Outbox()
        #expect(outbox.offer("one", key: "k"))
        #expect(outbox.push("between") == .queued)
        #expect(outbox.offer("two", key: "k"))
        #expect(outbox.offer("other", key: "l"))
        #expect(outbox.drain() == ["between", "two", "other"])
        #expect(outbox.offer("three", key: "k"))
        #expect(outbox.drain() == ["three"])
        #expect(outbox.takeDropped() == nil)
    }

    @Test func `a full queue drops events that may be lost, and says how many when there is room [W11]`() {
        let outbox = Outbox(event: 1000)
        #expect(outbox.push("a", bytes: 1000) == .queued)
        #expect(!outbox.hasRoom)
        #expect(!outbox.offer("b", key: "b"))
        #expect(!outbox.offer("c", key: "c"))
        #expect(outbox.takeDropped() == nil)
        #expect(outbox.push("reply", bytes: 1000) == .queued)
        #expect(outbox.drain() == ["a", "reply"])
        #expect(outbox.isEmpty && !outbox.isQuiet)
        #expect(outbox.takeDropped() == 2)
        #expect(outbox.isQuiet)
        #expect(outbox.takeDropped() == nil)
    }

    @Test func `a client that reads slowly is not read from, until half is gone`() {
        let outbox = Outbox(pause: 1000)
        #expect(outbox.push("a", bytes: 600) == .queued)
        #expect(outbox.push("b", bytes: 600) == .pause)
        #expect(outbox.push("c", bytes: 600) == .queued)
        #expect(!outbox.resumes())
        _ = outbox.next()
        _ = outbox.next()
        #expect(!outbox.resumes())
        _ = outbox.next()
        #expect(outbox.resumes())
        #expect(!outbox.resumes())
        #expect(outbox.push("d", bytes: 1200) == .pause)
    }

    @Test func `a client that does not read at all is given up, with a last word`() {
        let outbox = Outbox(pause: 1000, close: 2000)
        #expect(outbox.check(unwritten: 0) == .over)
        #expect(outbox.push("a", bytes: 1500) == .pause)
        for _ in 0..<OutboxLimits.checks { #expect(outbox.check(unwritten: 0) == .again) }
        #expect(outbox.check(unwritten: 0) == .giveUp)
        outbox.lastWord(Outbox.frame("last"))
        #expect(outbox.check(unwritten: 0) == .over)
        #expect(outbox.push("c") == .refused)
        #expect(!outbox.offer("d", key: "d"))
        #expect(outbox.drain() == ["last"])
    }

    @Test func `beyond the highest mark a client that takes nothing is given up soon`() {
        let outbox = Outbox(pause: 1000, close: 2000)
        _ = outbox.push("a", bytes: 1500)
        #expect(outbox.check(unwritten: 0) == .again)
        #expect(outbox.push("b", bytes: 600) == .queued)
        #expect(outbox.check(unwritten: 0) == .giveUp)
    }

    @Test func `a long message leaves in pieces, and no other message comes between them`() {
        let outbox = Outbox()
        let long = Outbox.frame("long", bytes: 1000)
        _ = outbox.offer("long", key: "k", bytes: 1000)
        _ = outbox.push("b")
        var text = ""
        for step in 1...3 {
            text += outbox.next(most: 300) ?? ""
            #expect(text.utf8.count == step * 300)
        }
        // the begun message is not replaced
        #expect(outbox.offer("c", key: "k"))
        #expect(outbox.bytes == Outbox.frame("b").count + Outbox.frame("c").count)
        text += outbox.next(most: 300) ?? ""
        #expect(text == String(decoding: long.bytes, as: UTF8.self))
        #expect(outbox.drain() == ["b", "c"])
        #expect(outbox.isEmpty)
    }

    @Test func `the rest of a long message stops neither reading nor events`() {
        let outbox = Outbox(event: 100, pause: 1000)
        #expect(outbox.push("long", bytes: 5000) == .pause)
        _ = outbox.next(most: 300)
        #expect(outbox.resumes())
        #expect(outbox.hasRoom)
        #expect(!outbox.isEmpty)
        _ = outbox.next(most: .max)
        #expect(outbox.isEmpty)
    }

    @Test func `the last word comes after the rest of a message that has begun`() {
        let outbox = Outbox()
        _ = outbox.push("a", bytes: 1000)
        _ = outbox.push("b")
        let first = outbox.next(most: 900) ?? ""
        outbox.lastWord(Outbox.frame("last"))
        let rest = outbox.next(most: .max) ?? ""
        #expect(first + rest == String(decoding: Outbox.frame("a", bytes: 1000).bytes, as: UTF8.self))
        #expect(outbox.drain() == ["last"])
    }

    @Test func `a client that takes anything is not given up, whatever waits for it`() {
        let outbox = Outbox(pause: 1000, close: 2000)
        _ = outbox.push("a", bytes: 5000)
        for _ in 0..<9 { _ = outbox.push("b", bytes: 600) }
        _ = outbox.next()
        // a long message leaves the queue at once, and arrives bit by bit
        for left in (0..<50).reversed() { #expect(outbox.check(unwritten: left * 100) == .again) }
        #expect(outbox.check(unwritten: 0) == .giveUp)
        while outbox.next() != nil {}
        #expect(outbox.resumes())
        #expect(outbox.check(unwritten: 0) == .over)
        // once more: what was delivered before does not count
        _ = outbox.push("c", bytes: 5000)
        #expect(outbox.check(unwritten: 0) == .again)
    }

    @Test func `bytes are those on the wire`() {
        let outbox = Outbox()
        let frame = Outbox.frame("a", bytes: 500)
        #expect(frame.count == 500)
        #expect(frame.bytes.count == 500)
        _ = outbox.push(frame)
        #expect(outbox.bytes == 500)
    }

    /// Compares the machine with a list that is kept in the most obvious way.
    @Test(arguments: 0..<10)
    func `whatever happens, order and counts hold`(_ round: Int) {
        var random = SystemRandomNumberGenerator()
        let outbox = Outbox(event: 3000, pause: 1 << 30, close: 1 << 30)
        var model: [(name: String, key: String?)] = []
        var dropped = 0
        var faults: [String] = []
        // One expectation at the end: thousands of them are slow.
        func hold(_ promise: Bool, _ what: String) { if !promise { faults.append(what) } }
        for step in 0..<2000 {
            let name = "e\(step)"
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                hold(outbox.push(name, bytes: 100) == .queued, "push \(step)")
                model.append((name, nil))
            case 2, 3:
                let key = "k\(Int.random(in: 0..<5, using: &random))"
                model.removeAll { $0.key == key }
                let fits = model.count * 100 < 3000
                hold(outbox.offer(name, key: key, bytes: 100) == fits, "offer \(step)")
                if fits { model.append((name, key)) } else { dropped += 1 }
            default:
                for _ in 0..<Int.random(in: 0...4, using: &random) where !model.isEmpty {
                    let expected = model.removeFirst().name
                    let frame = outbox.next()
                    hold(
                        frame.map { String(decoding: $0.bytes, as: UTF8.self).contains("\"\(expected)\"") } == true,
                        "next \(step)")
                }
            }
            hold(outbox.bytes == model.count * 100, "bytes \(step)")
            if let lost = outbox.takeDropped() {
                hold(lost == dropped, "dropped \(step)")
                dropped = 0
            }
        }
        #expect(faults == [])
        #expect(outbox.drain() == model.map(\.name))
    }
}

struct OutgoingTests {
    private func text(_ outgoing: Outgoing, _ framing: Framing = .line) -> String {
        let frame = outgoing.frame(framing)
        #expect(frame.bytes.count == frame.count)
        return String(decoding: frame.bytes, as: UTF8.self)
    }

    @Test func `envelopes are exactly those of the specification`() {
        let result = JSONText(written: Array("{}".utf8))
        #expect(text(.result(.integer(1), result)) == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
        #expect(text(.result(.string("é\n"), result)) == "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\\n\",\"result\":{}}\n")
        #expect(
            text(.error(nil, RPCError(.parseError, "no")))
                == "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}\n")
        #expect(text(.event(Event("a.b", JSONNothing()))) == "{\"jsonrpc\":\"2.0\",\"method\":\"a.b\",\"params\":{}}\n")
        #expect(
            text(.callback(7, Callback("a.b", JSONNothing())))
                == "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a.b\",\"params\":{}}\n")
    }

    @Test func `header frames count their bytes`() {
        let result = JSONText(written: Array("{}".utf8))
        #expect(
            text(.result(.integer(1), result), .header)
                == "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")
        #expect(Outgoing.result(.integer(1), result).frame(.header).messageBytes == 36)
        #expect(String(decoding: Outgoing.result(.integer(1), result).frame(nil).bytes, as: UTF8.self).hasSuffix("{}}"))
    }

    private struct Raw: JSONEncodable {
        var raw: [UInt8]? { Array("{}\n".utf8) }

        func encode(to writer: inout JSONWriter) { writer.object { _ in } }
    }

    @Test func `raw bytes follow the frame of their reply, which says how many`() {
        let result = JSONText(of: Raw())
        let reply = "{\"raw\":3,\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
        #expect(text(.result(.integer(1), result)) == reply + "\n{}\n")
        #expect(text(.result(.integer(1), result), .header) == "Content-Length: 44\r\n\r\n" + reply + "{}\n")
        #expect(Outgoing.result(.integer(1), result).frame(.line).messageBytes == reply.utf8.count + 3)
    }

    @Test func `long raw bytes leave in pieces, and may wait in a file`() {
        struct Long: JSONEncodable {
            let raw: [UInt8]?

            func encode(to writer: inout JSONWriter) { writer.object { _ in } }
        }
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var frame = Outgoing.result(.integer(1), JSONText(of: Long(raw: bytes))).frame(.line)
        let whole = frame.bytes
        let long = frame.lengthen()
        #expect(long?.count == 200_000)
        #expect(frame.count == whole.count)
        let outbox = Outbox()
        #expect(outbox.push(frame) == .queued)
        #expect(outbox.nextPiece(most: 65_536) == nil)
        long?.settle()
        var written: [UInt8] = []
        while let piece = outbox.nextPiece(most: 65_536) {
            piece.forEach(body: Array(bytes[piece.bodyRange]), from: piece.bodyRange.lowerBound) { written += $0 }
        }
        #expect(written == whole)
    }
}
