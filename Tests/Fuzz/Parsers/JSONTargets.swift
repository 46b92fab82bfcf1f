// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CJansson
import Glibc

@testable import OutriderJSON
@testable import OutriderRPC

/// Few numbers, so that inputs reach the limits.
private func few(_ input: Input) -> JSONLimits {
    var limits = JSONLimits()
    if input.chance(4, 1) { limits.depth = Int((input.hash >> 8) % 6) }
    if input.chance(4, 5) { limits.tokens = Int((input.hash >> 16) % 20) }
    if input.chance(4, 9) { limits.members = Int((input.hash >> 24) % 6) }
    limits.hasLongIntegers = input.chance(2, 13)
    return limits
}

/// The quick ways beside the whole ones, jansson beside both, and a value that is written and read again.
func json(_ input: Input) {
    let limits = few(input)
    input.bytes.withUnsafeBufferPointer { bytes in
        let check = Result { () throws(JSONFailure) in try JSONScanner.check(bytes, limits: limits) }
        let whole = Result { () throws(JSONFailure) in
            try JSONScanner.scanWhole(bytes, limits: limits, collects: false)
        }
        expect(((try? check.get()) != nil) == ((try? whole.get()) != nil), "the quick check differs")
        let quick = Result { () throws(JSONFailure) in try JSONParser.parse(bytes, limits: limits) }
        let slow = Result { () throws(JSONFailure) in try JSONParser.parseWhole(bytes, limits: limits) }
        expect(quick == slow, "values or failures differ")
        if case .failure(let failure) = quick {
            expect((0...bytes.count).contains(failure.offset), "the fault is outside of the text")
        }
        guard let value = try? quick.get() else { return }
        expect((try? check.get()) != nil, "a value of a text that the check refuses")
        let written = JSONWriter.bytes(of: value)
        var wide = limits
        wide.hasLongIntegers = true
        let again = try? JSONParser.parse(written, limits: wide)
        expect(again == value, "read again it is another value: \(written.shown)")
    }
    if (try? JSONParser.parse(input.bytes)) != nil {
        expect(janssonAccepts(input.bytes), "jansson refuses")
        // jansson passes over a byte of zero between two tokens
    } else if !input.bytes.contains(0), janssonAccepts(input.bytes) {
        var limits = JSONLimits()
        limits.hasLongIntegers = true
        let refused = Result { () throws(JSONFailure) in try JSONParser.parse(input.bytes, limits: limits) }
        guard case .failure(let failure) = refused else { return }
        let isLimit = ["deep", "more than", "range"].contains { failure.reason.contains($0) }
        expect(isLimit, "only jansson accepts: \(failure.reason)")
    }
}

private func janssonAccepts(_ bytes: [UInt8]) -> Bool {
    let flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL
    let tree = bytes.withUnsafeBytes { bytes in
        json_loadb(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, Int(flags), nil)
    }
    guard let tree else { return false }
    json_decref(tree)
    return true
}

/// Colours and layout change no value, and pieces change nothing.
func painter(_ input: Input) {
    var whole = JSONPainter(colours: input.chance(2, 1), layout: true)
    let once = whole.paint(input.bytes) + whole.finish()
    var cut = JSONPainter(colours: input.chance(2, 1), layout: true)
    var pieces: [UInt8] = []
    for piece in input.pieces { pieces += cut.paint(piece) }
    pieces += cut.finish()
    expect(once == pieces, "pieces are painted otherwise")
    if !input.chance(2, 1), let value = try? JSONParser.parse(input.bytes) {
        expect((try? JSONParser.parse(once)) == value, "painted it is another value: \(once.shown)")
    }
}

/// The quick way of reading a call, or a batch of calls, beside the way through a tree, and with secrets in it.
func calls(_ input: Input) {
    var limits = MessageLimits()
    limits.json = few(input)
    // a call has four
    limits.json.members += 4
    if input.chance(2, 7) { limits.batchItems = 2 }
    input.bytes.withUnsafeBufferPointer { bytes in
        let plain = PlainFrame(bytes, limits: limits)
        let whole = (try? JSONParser.parse(bytes, limits: limits.json)).map { Incoming($0, limits: limits) }
        if let quick = plain?.incoming(in: bytes, limits) { expect(quick == whole, "the messages differ") }
        expect((try? Incoming(parsing: bytes, limits: limits)) == whole, "the messages differ, or only one way has any")
        let members = SecretMembers(
            methods: ["a.b": ["x", "y/z"], "data.send": ["url", "body/text"]], results: ["x"])
        guard whole != nil else { return }
        var end = 0
        for range in members.ranges(in: bytes) {
            expect(range.lowerBound >= end && range.upperBound <= bytes.count, "secrets overlap")
            expect(members.mayBe(in: bytes, nil), "a secret in a message without one")
            end = range.upperBound
        }
    }
}

func base64(_ input: Input) {
    expect(Base64.decode(Base64.encode(input.bytes)) == input.bytes, "encoded and decoded it is something else")
    expect(Base64.decodeForURL(Base64.encodeForURL(input.bytes)) == input.bytes, "for URLs it is something else")
    if let bytes = Base64.decode(input.text) {
        expect(Base64.decode(Base64.encode(bytes)) == bytes, "decoded, encoded and decoded it is something else")
        expect(bytes.count <= input.bytes.count, "it grew")
    }
}

/// Every offset has a place, and the ranges of members and elements hold what the parser finds there.
func pointers(_ input: Input) {
    var limits = JSONLimits()
    limits.hasLongIntegers = true
    input.bytes.withUnsafeBufferPointer { bytes in
        _ = JSONLocator.pointer(at: Int(input.hash % UInt64(bytes.count + 1)), in: bytes)
        let parse = { (range: Range<Int>) in
            expect(range.lowerBound >= 0 && range.upperBound <= bytes.count, "\(range) of \(bytes.count)")
            return try? JSONParser.parse(UnsafeBufferPointer(rebasing: bytes[range]), limits: limits)
        }
        switch parse(0..<bytes.count) {
        case .object(let object)?:
            for name in ["a", "id", "params", "/"] {
                let range = JSONLocator.range(ofMember: name, in: bytes)
                expect(range.flatMap(parse) == object[name], "another value of \(name)")
            }
        case .array(let values)?:
            expect(JSONLocator.elements(in: bytes).map(parse) == values, "other elements")
        default: break
        }
    }
}

// MARK: frames

private struct Found: Equatable {
    var kind: String
    var bytes: [UInt8]
}

/// What a connection finds in these pieces.
private func found(_ pieces: [[UInt8]], _ limits: FrameLimits, _ forced: Framing?) -> [Found] {
    var scanner = FrameScanner(limits: limits, forced: forced)
    var buffer: [UInt8] = []
    var found: [Found] = []
    for index in 0...pieces.count {
        if index < pieces.count { buffer += pieces[index] }
        var steps = 0
        while true {
            steps += 1
            expect(steps < 1_000_000, "it never ends")
            let step = buffer.withUnsafeBufferPointer { scanner.next($0, ended: index == pieces.count) }
            var used = 0
            switch step {
            case .more(let consumed): used = consumed
            case .frame(let range, let consumed):
                found.append(Found(kind: "frame", bytes: Array(buffer[range])))
                used = consumed
            case .cut(let range, let consumed):
                found.append(Found(kind: "cut", bytes: Array(buffer[range])))
                used = consumed
            case .tooLong(let range, let consumed):
                expect(range.count <= FrameLimits.glimpse, "a long glimpse")
                // how much of it is shown depends on the pieces
                found.append(Found(kind: "tooLong", bytes: []))
                used = consumed
            case .refused: return found + [Found(kind: "refused, though nothing was", bytes: [])]
            case .http: return found + [Found(kind: "http", bytes: [])]
            case .broken: return found + [Found(kind: "broken", bytes: [])]
            }
            expect((0...buffer.count).contains(used), "more is used than there is")
            buffer.removeFirst(used)
            if case .more = step {
                if used == 0 { break }
            }
        }
    }
    return found
}

func frames(_ input: Input) {
    var limits = FrameLimits()
    if input.chance(2, 1) { limits.message = 24 }
    if input.chance(2, 2) { limits.header = 40 }
    let forced: Framing? = input.chance(4, 7) ? .line : input.chance(4, 11) ? .header : nil
    let whole = found([input.bytes], limits, forced)
    let pieces = found(input.pieces, limits, forced)
    expect(whole == pieces, "cut otherwise: \(whole) and \(pieces)")
}
