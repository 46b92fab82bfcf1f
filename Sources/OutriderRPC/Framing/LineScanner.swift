// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Finds lines. Remembers how far the search has come, so that input in single bytes costs no more than in one piece.
///
/// A carriage return before the line feed is dropped, blank lines are skipped, the last line needs no line feed
/// (protocol section 3.1).
package struct LineScanner {
    private let limit: Int
    /// Number of bytes at the front that hold no line feed.
    private var scanned = 0
    /// Whether the scanner is inside an oversized or refused line.
    private var skipping = false
    /// Whether the line at the front is refused.
    private var isRefused = false

    package init(limits: FrameLimits = FrameLimits()) { limit = limits.message }

    /// Refuses the line that has begun.
    mutating func refuse() { isRefused = true }

    package mutating func next(_ bytes: UnsafeBufferPointer<UInt8>, ended: Bool) -> FrameStep {
        var start = 0
        while true {
            guard let end = Self.lineFeed(in: bytes, from: start + scanned) else {
                return unfinished(bytes, from: start, ended: ended)
            }
            scanned = 0
            let line = Self.trimmed(bytes, start..<end)
            let (wasSkipping, wasRefused) = (skipping, isRefused)
            (skipping, isRefused) = (false, false)
            if wasRefused { return .refused(Self.glimpse(start..<end), consumed: end + 1) }
            if !wasSkipping, Self.length(bytes, start..<end) > limit {
                return .tooLong(Self.glimpse(start..<end), consumed: end + 1)
            }
            if wasSkipping || line.isEmpty {
                start = end + 1
            } else {
                return .frame(line, consumed: end + 1)
            }
        }
    }

    private mutating func unfinished(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, ended: Bool) -> FrameStep {
        scanned = 0
        if skipping { return .more(consumed: bytes.count) }
        if isRefused {
            (skipping, isRefused) = (true, false)
            return .refused(Self.glimpse(start..<bytes.count), consumed: bytes.count)
        }
        if Self.length(bytes, start..<bytes.count) > limit {
            skipping = true
            return .tooLong(Self.glimpse(start..<bytes.count), consumed: bytes.count)
        }
        guard ended else {
            scanned = bytes.count - start
            return .more(consumed: start)
        }
        let line = Self.trimmed(bytes, start..<bytes.count)
        return line.isEmpty ? .more(consumed: bytes.count) : .frame(line, consumed: bytes.count)
    }

    /// Without a carriage return at the end, and with all other white space: the limit must not depend on where the bytes
    /// are cut.
    private static func length(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> Int {
        line.isEmpty || bytes[line.upperBound - 1] != 0x0D ? line.count : line.count - 1
    }

    private static func glimpse(_ line: Range<Int>) -> Range<Int> {
        line.lowerBound..<min(line.upperBound, line.lowerBound + FrameLimits.glimpse)
    }

    /// The line without trailing white space; empty for a blank line.
    private static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> Range<Int> {
        var end = line.upperBound
        while end > line.lowerBound, isSpace(bytes[end - 1]) { end -= 1 }
        return line.lowerBound..<end
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }

    /// The place of the next line feed. Uses memchr, because long lines are common and Swift's loops are slower.
    static func lineFeed(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, 0x0A, bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
}
