// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes that grow, written with few instructions. Memory beyond `kept` is given back by `clear`.
struct WireBytes: ~Copyable {
    private static let kept = 4 << 10

    private(set) var count = 0
    private var capacity = 0
    private var base: UnsafeMutablePointer<UInt8>?

    deinit { base?.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count) }

    /// Room for `more` bytes at the end; the caller writes at most that many and calls `advance`.
    mutating func room(_ more: Int) -> UnsafeMutableBufferPointer<UInt8> {
        let needed = count + max(0, more)
        if base == nil || needed > capacity { grow(to: needed) }
        guard let base else { return UnsafeMutableBufferPointer(start: nil, count: 0) }
        return UnsafeMutableBufferPointer(start: base + count, count: capacity - count)
    }

    private mutating func grow(to needed: Int) {
        let larger = max(512, max(needed, capacity * 2))
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        if let base {
            memory.update(from: base, count: count)
            base.deallocate()
        }
        base = memory
        capacity = larger
    }

    /// Adds the bytes written into `room`, at most its size.
    mutating func advance(_ written: Int) { count += max(0, min(written, capacity - count)) }

    mutating func append(_ byte: UInt8) {
        let memory = room(1)
        memory[0] = byte
        count += 1
    }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        guard let start = more.baseAddress, more.count > 0 else { return }
        if let place = room(more.count).baseAddress {
            UnsafeMutableRawPointer(place).copyMemory(from: start, byteCount: more.count)
            count += more.count
        }
    }

    mutating func append(number: UInt32) {
        withUnsafeBytes(of: number.bigEndian) { append($0) }
    }

    /// Writes over three bytes that are there.
    mutating func set(length: Int, at offset: Int) {
        guard let base, offset >= 0, offset + 3 <= count else { return }
        base[offset] = UInt8(truncatingIfNeeded: length >> 16)
        base[offset + 1] = UInt8(truncatingIfNeeded: length >> 8)
        base[offset + 2] = UInt8(truncatingIfNeeded: length)
    }

    mutating func truncate(to length: Int) { count = max(0, min(count, length)) }

    mutating func clear() {
        count = 0
        guard capacity > Self.kept else { return }
        base?.deallocate()
        base = nil
        capacity = 0
    }
}
