// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes written one behind the other into memory that grows when it must.
///
/// An array would ask at each step whether it is shared, which costs more than the few bytes of most steps.
struct ByteSink: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0
    /// Whether the memory is the caller's, as it was given; what outgrows it moves to memory of our own.
    private(set) var isLent: Bool

    init(capacity: Int) {
        self.capacity = max(64, capacity)
        memory = .allocate(capacity: self.capacity)
        isLent = false
    }

    /// - Parameter lent: not empty; it must stay until the sink is gone.
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

    mutating func append(text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Room for so many bytes more, all of which the work fills.
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

extension UnsafeBufferPointer<UInt8> {
    /// Where, from an index on, the first byte stands that JSON in ASCII must escape; the count if there is none. Eight bytes
    /// at a time, because texts are long.
    func indexOfSpecial(from start: Int) -> Int {
        var index = start
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while count - index >= 8, let base = baseAddress {
            let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
            let quote = word ^ (ones &* 0x22)
            let slash = word ^ (ones &* 0x5C)
            let delete = word ^ (ones &* 0x7F)
            let special =
                (quote &- ones) & ~quote | (slash &- ones) & ~slash | (delete &- ones) & ~delete
                | (word &- ones &* 0x20) & ~word | word
            // the lowest mark is exact; those above it may stand for a carry. The first byte is the lowest one here
            let marks = UInt64(littleEndian: special & highs)
            if marks != 0 { return index + marks.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count {
            let byte = self[index]
            if byte < 0x20 || byte >= 0x7F || byte == 0x22 || byte == 0x5C { return index }
            index += 1
        }
        return index
    }
}
