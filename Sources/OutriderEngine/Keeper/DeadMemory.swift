// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
import OutriderHTTP

/// Takes secrets out of the memory of this process that nobody uses any more: what a client sent stood in buffers, and in
/// texts made of them, and freeing those does not change their bytes.
///
/// Every writable page that belongs to no file is read through the kernel, which fails where there is none any more; eight
/// bytes that still are what was looked for become zero in one step. So memory that was put to another use meanwhile is
/// never touched. What is left of a text is at most seven bytes at either end; no promise is made where the system forbids
/// processes to read their own memory this way.
enum DeadMemory {
    /// Shorter texts, and those with other characters than tokens have, may be anybody's: they are left alone.
    private static let leastBytes = 16
    private static let pieceBytes = 1 << 20

    /// Blocks: some 100 ms per GB.
    static func scrub(_ secrets: [Secret?]) {
        let texts = secrets.compactMap { $0?.exposed }.filter { text in
            text.utf8.count >= leastBytes && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        guard !texts.isEmpty, let longest = texts.map(\.utf8.count).max() else { return }
        let readBytes = pieceBytes + longest
        let size = readBytes + texts.reduce(0) { $0 + $1.utf8.count }
        // shared memory is none of the regions that are looked through: what is looked for must not find itself
        guard let own = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), own != MAP_FAILED
        else { return }
        defer {
            memset(own, 0, size)
            munmap(own, size)
        }
        var wanted: [UnsafeRawBufferPointer] = []
        var next = own + readBytes
        for text in texts {
            let place = UnsafeMutableRawBufferPointer(start: next, count: text.utf8.count)
            place.copyBytes(from: text.utf8)
            wanted.append(UnsafeRawBufferPointer(place))
            next += text.utf8.count
        }
        for range in regions() { scrub(wanted, in: range, through: own, readBytes) }
    }

    private static func scrub(
        _ wanted: [UnsafeRawBufferPointer], in range: Range<UInt>, through copy: UnsafeMutableRawPointer, _ size: Int
    ) {
        var start = range.lowerBound
        while start < range.upperBound {
            let count = min(size, Int(clamping: range.upperBound - start))
            let got = UnsafeRawPointer(bitPattern: start).map { outrider_peek($0, copy, count) } ?? 0
            for text in wanted where got > 0 {
                scrub(text, in: UnsafeRawBufferPointer(start: copy, count: got), at: start)
            }
            start += UInt(pieceBytes)
        }
    }

    private static func scrub(_ text: UnsafeRawBufferPointer, in copy: UnsafeRawBufferPointer, at start: UInt) {
        guard let base = copy.baseAddress else { return }
        var offset = 0
        while let found = memmem(base + offset, copy.count - offset, text.baseAddress, text.count) {
            offset = UnsafeRawPointer(found) - base
            erase(text, at: start + UInt(clamping: offset))
            offset += 1
        }
    }

    private static func erase(_ text: UnsafeRawBufferPointer, at place: UInt) {
        var index = Int(clamping: (8 - place % 8) % 8)
        while index + 8 <= text.count {
            let expected = text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            var now: UInt64 = 0
            let word = place + UInt(clamping: index)
            // it is mapped a moment before, or is let alone
            if let from = UnsafeMutableRawPointer(bitPattern: word), outrider_peek(from, &now, 8) == 8 {
                _ = outrider_erase(from, expected)
            }
            index += 8
        }
    }

    /// The writable memory that is no file's.
    private static func regions() -> [Range<UInt>] {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var found: [Range<UInt>] = []
        var line = [CChar](repeating: 0, count: 4096)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            let words = text.split(separator: " ", maxSplits: 5)
            let ends = (words.first ?? "").split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard words.count >= 5, ends.count == 2, ends[0] < ends[1], words[1].hasPrefix("rw-p"), words[4] == "0"
            else { continue }
            found.append(ends[0]..<ends[1])
        }
        return found
    }
}
