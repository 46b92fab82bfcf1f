// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct FrameTests {
    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 65535, 65536])
    func `a written frame has the shortest length and its payload under the mask`(_ count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var frame: [UInt8] = []
        payload.withUnsafeBytes { FrameWriter.append(.binary, $0, mask: 0x1122_3344, to: &frame) }
        let head = count <= 125 ? 2 : count <= 65535 ? 4 : 10
        #expect(frame.count == head + 4 + count)
        #expect(frame[0] == 0x82)
        #expect(frame[1] & 0x80 != 0)
        let key = Array(frame[head..<head + 4])
        let plain = frame[(head + 4)...].enumerated().map { $1 ^ key[$0 & 3] }
        #expect(plain == payload)
    }

    @Test(arguments: [
        ("", true), ("aé€😀", true), ("\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}", true),
        (String(repeating: "long ASCII and then ü", count: 9), true),
    ])
    func `UTF-8 is accepted in any pieces`(_ text: String, _ isValid: Bool) {
        for size in [1, 2, 3, 100] {
            var validator = UTF8Validator()
            let bytes = Array(text.utf8)
            var index = 0
            while index < bytes.count {
                let end = min(bytes.count, index + size)
                #expect(bytes[index..<end].withUnsafeBytes { validator.accept($0) })
                index = end
            }
            #expect(validator.isComplete == isValid)
        }
    }

    @Test func `every pair and triple of bytes is judged as the standard library judges it`() {
        var random = SeededRandom(seed: 5)
        for _ in 0..<200_000 {
            let bytes = (0..<4).map { _ in UInt8.random(in: 0x70...255, using: &random) }
            var validator = UTF8Validator()
            let isValid = bytes.withUnsafeBytes { validator.accept($0) } && validator.isComplete
            #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil))
        }
    }

    @Test func `a bad byte is found at any place in long ASCII`() {
        let ascii = [UInt8](repeating: UInt8(ascii: "a"), count: 200)
        for place in ascii.indices {
            var bytes = ascii
            bytes[place] = 0xFF
            var validator = UTF8Validator()
            #expect(!bytes.withUnsafeBytes { validator.accept($0) })
        }
        var validator = UTF8Validator()
        #expect(ascii.withUnsafeBytes { validator.accept($0) } && validator.isComplete)
    }

    @Test(arguments: ["й", "中", "😀", "\u{E000}\u{D7FF}\u{800}", "Größe, мир, "])
    func `any byte at any place of long text is judged as the standard library judges it`(_ part: String) {
        let text = Array(String(repeating: part, count: 12).utf8)
        for place in text.indices {
            for byte: UInt8 in [
                0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5,
            ] {
                var bytes = text
                bytes[place] = byte
                var validator = UTF8Validator()
                let isValid = bytes.withUnsafeBytes { validator.accept($0) } && validator.isComplete
                #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil))
            }
        }
    }

    @Test func `close codes that are reserved are never sent`() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] { #expect(!CloseCode.isSendable(code)) }
        for code in [1000, 1001, 1003, 1007, 1014, 3000, 4999] { #expect(CloseCode.isSendable(code)) }
    }

    @Test func `a ping is due after silence, and a server without a pong is dead`() {
        var settings = KeepAlive.Settings()
        settings.interval = 10
        settings.timeout = 5
        var keepAlive = KeepAlive(settings, now: 0)
        #expect(keepAlive.tick(now: 4) == .wait(6))
        #expect(keepAlive.tick(now: 10) == .ping)
        #expect(keepAlive.tick(now: 12) == .wait(3))
        keepAlive.received(now: 13)
        #expect(keepAlive.tick(now: 14) == .wait(9))
        #expect(keepAlive.tick(now: 23) == .ping)
        #expect(keepAlive.tick(now: 28) == .dead)
    }

    @Test func `a ping behind a long message waits for its own sending`() {
        var settings = KeepAlive.Settings()
        settings.interval = 10
        settings.timeout = 5
        var keepAlive = KeepAlive(settings, now: 0)
        keepAlive.progressed(now: 9)
        #expect(keepAlive.tick(now: 10) == .ping)
        keepAlive.progressed(now: 14)
        #expect(keepAlive.tick(now: 15) == .wait(4))
        #expect(keepAlive.tick(now: 19) == .dead)
    }

    @Test func `a change of the network is followed by a ping, once a second at most, and never forgotten`() {
        var keepAlive = KeepAlive(KeepAlive.Settings(), now: 0)
        var steps: [KeepAlive.Step] = []
        keepAlive.networkChanged()
        steps.append(keepAlive.tick(now: 1))
        // the ping has no pong, and a second change follows
        keepAlive.networkChanged()
        steps.append(keepAlive.tick(now: 1.5))
        keepAlive.received(now: 1.6)
        steps.append(keepAlive.tick(now: 1.75))
        steps.append(keepAlive.tick(now: 2))
        #expect(steps == [.ping, .wait(1), .wait(0.25), .ping])
        // no pong can be heard: the ping waits until the next interval
        keepAlive.networkChanged()
        steps = [keepAlive.tick(now: 40, isReading: false), keepAlive.tick(now: 41), keepAlive.tick(now: 71)]
        #expect(steps == [.wait(KeepAlive.Settings().interval), .ping, .dead])
    }
}

struct DeflateOfferTests {
    @Test func `a response agrees to what was offered`() throws {
        let offer = DeflateOffer()
        #expect(try DeflateOffer.agreement("", to: offer) == nil)
        let plain = try #require(try DeflateOffer.agreement("permessage-deflate", to: offer))
        #expect(plain.clientWindow == 12)
        #expect(plain.serverTakeover && plain.clientTakeover)
        let value =
            "permessage-deflate ;  server_no_context_takeover ;server_max_window_bits=\"10\"; client_max_window_bits=9"
        let full = try #require(try DeflateOffer.agreement(value, to: offer))
        #expect(full.clientWindow == 9)
        #expect(full.serverWindow == 10)
        #expect(!full.serverTakeover)
    }

    @Test(arguments: [
        "x-other", "Permessage-Deflate", "permessage-deflate, permessage-deflate",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=16",
        "permessage-deflate; server_no_context_takeover=true", "permessage-deflate; other",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
    ])
    func `anything else is refused`(_ value: String) {
        #expect(throws: WebSocketFault.self) { try DeflateOffer.agreement(value, to: DeflateOffer()) }
    }

    @Test func `nothing may be agreed to where nothing was offered`() {
        #expect(throws: WebSocketFault.self) { try DeflateOffer.agreement("permessage-deflate", to: nil) }
    }
}

struct MessageRecordTests {
    @Test func `records come out as they went in`() throws {
        var bytes: [UInt8] = []
        MessageRecord.append(.text, Array("hi".utf8), to: &bytes)
        MessageRecord.append(.binary, [UInt8](repeating: 7, count: 300), to: &bytes)
        MessageRecord.append(.control, Array("{}".utf8), to: &bytes)
        var scanner = MessageRecordScanner(longest: 300)
        var found: [MessageRecordScanner.Record] = []
        for byte in bytes {
            scanner.feed([byte])
            while let record = try scanner.next() { found.append(record) }
        }
        #expect(found.map(\.kind) == [.text, .binary, .control])
        #expect(found.map(\.payload.count) == [2, 300, 2])
    }

    @Test func `a record that is too long or of no kind is refused`() {
        var scanner = MessageRecordScanner(longest: 10)
        scanner.feed([1, 0, 0, 0, 11])
        #expect(throws: WebSocketFault.self) { try scanner.next() }
        var other = MessageRecordScanner(longest: 10)
        other.feed([9, 0, 0, 0, 1])
        #expect(throws: WebSocketFault.self) { try other.next() }
    }
}
