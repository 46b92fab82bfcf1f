// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Bytes of a secret in dedicated memory: locked against swapping, excluded from core dumps, and zeroed before the
/// memory is released.
///
/// Each buffer has pages of its own. If the system locks no more memory (`RLIMIT_MEMLOCK`), the bytes are on the heap
/// instead, and are still zeroed at the end. A buffer that grows zeroes the memory it leaves.
package struct SecretBuffer: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer
    private var isMapped: Bool
    /// Bytes in use.
    package private(set) var count = 0

    package init(capacity: Int = 0) {
        (memory, isMapped) = Self.allocate(capacity)
    }

    package init(copying bytes: UnsafeRawBufferPointer) {
        self.init(capacity: bytes.count)
        append(bytes)
    }

    deinit { Self.release(memory, isMapped) }

    package borrowing func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeBufferPointer(rebasing: UnsafeRawBufferPointer(memory).bindMemory(to: UInt8.self).prefix(count)))
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    package mutating func append(_ byte: UInt8) {
        reserve(1)
        memory[count] = byte
        count += 1
    }

    package mutating func append(contentsOf bytes: some Sequence<UInt8>) {
        let copied: Void? = bytes.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
        if copied == nil { for byte in bytes { append(byte) } }
    }

    /// Replaces existing bytes; bytes beyond the end are left out.
    package mutating func replace(at position: Int, with bytes: some Collection<UInt8>) {
        for (index, byte) in zip(max(0, position)..<max(0, position, count), bytes) { memory[index] = byte }
    }

    /// Zeroes memory, even if the optimizer sees that the zeroes are never read.
    package static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }

    private mutating func reserve(_ more: Int) {
        guard memory.count - count < more else { return }
        let larger = Self.allocate(max(count + more, 2 * memory.count))
        larger.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory.prefix(count)))
        Self.release(memory, isMapped)
        (memory, isMapped) = larger
    }

    private static func allocate(_ capacity: Int) -> (memory: UnsafeMutableRawBufferPointer, isMapped: Bool) {
        let page = max(4096, sysconf(CInt(_SC_PAGESIZE)))
        let size = (max(capacity, 1) + page - 1) / page * page
        let protection = PROT_READ | PROT_WRITE
        if let start = mmap(nil, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), start != MAP_FAILED {
            if mlock(start, size) == 0 {
                madvise(start, size, MADV_DONTDUMP)
                return (UnsafeMutableRawBufferPointer(start: start, count: size), true)
            }
            munmap(start, size)
        }
        return (.allocate(byteCount: max(capacity, 1), alignment: 16), false)
    }

    private static func release(_ memory: UnsafeMutableRawBufferPointer, _ isMapped: Bool) {
        erase(memory)
        if isMapped { munmap(memory.baseAddress, memory.count) } else { memory.deallocate() }
    }
}

// proof: the buffer is the only owner of its memory, and every change has exclusive access
extension SecretBuffer: @unchecked Sendable {}
