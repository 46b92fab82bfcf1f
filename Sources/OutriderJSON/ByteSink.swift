// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes appended to memory that grows on demand.
///
/// An array would check at each step whether it is shared, which costs more than the few bytes of most steps.
struct ByteSink: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0
    /// Whether the memory is the caller's; output that outgrows the memory moves to an allocation of the sink.
    private(set) var isLent: Bool

    init(capacity: Int) {
        self.capacity = max(64, capacity)
        memory = .allocate(capacity: self.capacity)
        isLent = false
    }

    /// - Parameter lent: not empty; must stay valid until the sink is gone.
    init(lent: UnsafeMutableBufferPointer<UInt8>) {
        if let start = lent.baseAddress {
            (memory, capacity, isLent) = (start, lent.count, true)
        } else {
            (memory, capacity, isLent) = (.allocate(capacity: 64), 64, false)
        }
    }

    deinit { if !isLent { memory.deallocate() } }

    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: memory, count: count)) }

    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        memory[count] = byte
        count &+= 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count)
        (memory + count).update(from: start, count: bytes.count)
        count &+= bytes.count
    }

    /// Appends the name of a member, which needs no escaping, with its quotes and colon.
    mutating func append(name: StaticString, afterComma: Bool) {
        let length = name.utf8CodeUnitCount
        reserve(length &+ 4)
        var place = memory + count
        if afterComma {
            place.pointee = UInt8(ascii: ",")
            place += 1
        }
        place.pointee = UInt8(ascii: "\"")
        (place + 1).update(from: name.utf8Start, count: length)
        place += length &+ 1
        place.pointee = UInt8(ascii: "\"")
        place[1] = UInt8(ascii: ":")
        count = place - memory &+ 2
    }

    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Makes room for more bytes, all of which `work` fills.
    mutating func append(count more: Int, _ work: (UnsafeMutableRawBufferPointer) -> Void) {
        reserve(more)
        work(UnsafeMutableRawBufferPointer(start: memory + count, count: more))
        count &+= more
    }

    mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(by: more) }
    }

    private mutating func grow(by more: Int) {
        let larger = max(capacity &* 2, count + more)
        let new = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        new.update(from: memory, count: count)
        if !isLent { memory.deallocate() }
        (memory, capacity, isLent) = (new, larger, false)
    }
}

// MARK: text of JSON

extension ByteSink {
    /// Writes text as the inside of a JSON string in ASCII, from an index on, up to the first byte whose escape is
    /// longer than a backslash and a letter. Returns the index of that byte, or the count.
    ///
    /// Copies sixteen bytes at a time, and eight near the end, because texts are long, and before the bytes are checked,
    /// because quotes are close together in texts that are JSON themselves.
    mutating func append(jsonText text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = text.baseAddress else { return start }
        var index = start
        reserve(text.count &- start &+ Self.step)
        while index < text.count {
            if capacity &- count < Self.step { grow(by: text.count &- index &+ Self.step) }
            if text.count &- index >= 16 {
                let bytes = UnsafeRawPointer(base + index).loadUnaligned(as: SIMD16<Int8>.self)
                UnsafeMutableRawPointer(memory + count).storeBytes(of: bytes, as: SIMD16<Int8>.self)
                let plain = bytes.printableBytes
                index &+= plain
                count &+= plain
                if plain == 16 { continue }
            } else if text.count >= 8 {
                let word = Self.word(of: text, base, index)
                UnsafeMutableRawPointer(memory + count).storeBytes(of: word, as: UInt64.self)
                let plain = Self.plainBytes(word)
                index &+= plain
                count &+= plain
                if plain == 8 || index == text.count { continue }
            } else if Self.isPlain(base[index]) {
                memory[count] = base[index]
                index &+= 1
                count &+= 1
                continue
            }
            guard let letter = Self.letter(base[index]) else { return index }
            memory[count] = 0x5C
            memory[count &+ 1] = letter
            index &+= 1
            count &+= 2
        }
        return index
    }

    /// Writes the scalar at an index as an escape, and those beyond ASCII that follow; U+FFFD for bytes that are no UTF-8.
    /// Returns the index after them.
    mutating func append(escapesOf text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var index = start
        while text.count &- index >= 4, let base = text.baseAddress {
            let four = UInt32(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt32.self))
            if four & 0xC0E0 == 0x80C0, four & 0x1E != 0 {
                append(escapeOf: (four & 0x1F) &<< 6 | four &>> 8 & 0x3F)
                index &+= 2
            } else if four & 0xC0_C0F0 == 0x80_80E0, four & 0x200F != 0, four & 0x200F != 0x200D {
                append(escapeOf: (four & 0xF) &<< 12 | (four &>> 8 & 0x3F) &<< 6 | four &>> 16 & 0x3F)
                index &+= 3
            } else if four & 0xC0C0_C0F8 == 0x8080_80F0 {
                let high = (four & 7) &<< 18 | (four &>> 8 & 0x3F) &<< 12
                let scalar = high | (four &>> 16 & 0x3F) &<< 6 | four &>> 24 & 0x3F
                guard 0x10000...0x10FFFF ~= scalar else { break }
                append(escapeOf: 0xD7C0 &+ scalar &>> 10)
                append(escapeOf: 0xDC00 | scalar & 0x3FF)
                index &+= 4
            } else {
                break
            }
        }
        return index > start ? index : append(escapeOf: text, at: start)
    }

    /// Writes the escape of a single scalar, valid or not.
    private mutating func append(escapeOf text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        var source = text[index...].makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        switch parser.parseScalar(from: &source) {
        case .valid(let encoded):
            for unit in UTF16.encode(Unicode.UTF8.decode(encoded)) ?? UTF16.encodedReplacementCharacter {
                append(escapeOf: UInt32(unit))
            }
            return index + encoded.count
        case .error(let length):
            append(escapeOf: 0xFFFD)
            return index + length
        case .emptyInput: return index + 1
        }
    }

    /// Writes `\u` and the four digits of a unit of UTF-16.
    private mutating func append(escapeOf unit: UInt32) {
        reserve(8)
        // a byte for each digit, the first one lowest
        let halves = (unit &>> 8 | unit &<< 16) & 0xFF_00FF
        let digits = halves &>> 4 & 0xF_000F | (halves & 0xF_000F) &<< 8
        let letters = (digits &+ 0x0606_0606) &>> 4 & 0x0101_0101
        let word = UInt64(digits &+ 0x3030_3030 &+ letters &* 0x27) &<< 16 | 0x755C
        UnsafeMutableRawPointer(memory + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        count &+= 6
    }

    /// The next eight bytes of a text that has so many; near its end the last bytes, then zeros, which are not plain.
    @inline(__always)
    private static func word(
        of text: UnsafeBufferPointer<UInt8>, _ base: UnsafePointer<UInt8>, _ index: Int
    ) -> UInt64 {
        let left = text.count &- index
        if left >= 8 { return UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self) }
        let last = UnsafeRawPointer(base + (text.count &- 8)).loadUnaligned(as: UInt64.self)
        return UInt64(littleEndian: last) &>> UInt64(truncatingIfNeeded: (8 &- left) &* 8)
    }

    /// Upper limit of the bytes written in a step: sixteen bytes and an escape, with a reserve.
    private static var step: Int { 24 }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C }

    /// The number of plain bytes among eight, before the first special byte.
    private static func plainBytes(_ word: UInt64) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* 0x22)
        let slash = word ^ (ones &* 0x5C)
        let delete = word ^ (ones &* 0x7F)
        let special =
            (quote &- ones) & ~quote | (slash &- ones) & ~slash | (delete &- ones) & ~delete
            | (word &- ones &* 0x20) & ~word | word
        // the lowest mark is exact; higher marks may be carries. The first byte of the text is the lowest here
        return UInt64(littleEndian: special & highs).trailingZeroBitCount / 8
    }

    /// The letter after the backslash; nil if the escape needs more than a letter.
    private static func letter(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x22, 0x5C: byte
        case 0x0A: UInt8(ascii: "n")
        case 0x0D: UInt8(ascii: "r")
        case 0x09: UInt8(ascii: "t")
        default: nil
        }
    }
}
