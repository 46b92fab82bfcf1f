// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds frames behind `Content-Length` headers, read leniently: names in any case, LF for CRLF, unknown fields, blank
/// lines before a block (protocol section 3.1). A broken block cannot be resynchronised.
package struct HeaderScanner {
    private enum State: Equatable {
        /// Looking for the end of a block; counts are from the front of the view.
        case block(scanned: Int, line: Int)
        case body(Int)
        /// A body over the limit, of which the first bytes are still to come.
        case glimpse(Int)
        /// The same for a body that is refused.
        case refused(Int)
        case skipping(Int)
    }

    private let limits: FrameLimits
    private var state = State.block(scanned: 0, line: 0)

    package init(limits: FrameLimits = FrameLimits()) { self.limits = limits }

    /// Refuses the body that has begun.
    mutating func refuse() {
        if case .body(let length) = state { state = .refused(length) }
    }

    package mutating func next(_ bytes: UnsafeBufferPointer<UInt8>, ended: Bool) -> FrameStep {
        var start = 0
        while true {
            switch state {
            case .block(let scanned, let line):
                switch block(bytes, from: start, scanned: scanned, line: line, ended: ended) {
                case .failure(let broken): return .broken(broken.reason)
                case .success(.unfinished(let consumed)): return .more(consumed: consumed)
                case .success(.length(let length, let end)):
                    start = end
                    state = length > limits.message ? .glimpse(length) : .body(length)
                }
            case .body(let length):
                let available = bytes.count - start
                guard available >= length || ended else { return .more(consumed: start) }
                state = .block(scanned: 0, line: 0)
                guard available >= length else { return .cut(start..<bytes.count, consumed: bytes.count) }
                return .frame(start..<start + length, consumed: start + length)
            case .glimpse(let length), .refused(let length):
                let available = bytes.count - start
                guard available >= FrameLimits.glimpse || available >= length || ended else {
                    return .more(consumed: start)
                }
                let shown = min(available, length, FrameLimits.glimpse)
                let isRefused = state == .refused(length)
                state = .skipping(length - shown)
                let range = start..<start + shown
                return isRefused
                    ? .refused(range, consumed: range.upperBound) : .tooLong(range, consumed: range.upperBound)
            case .skipping(let left):
                let skipped = min(left, bytes.count - start)
                if skipped < left {
                    state = .skipping(left - skipped)
                    return .more(consumed: bytes.count)
                }
                state = .block(scanned: 0, line: 0)
                start += skipped
            }
        }
    }

    private struct Broken: Error {
        let reason: String
    }

    private enum Block {
        case unfinished(consumed: Int)
        case length(Int, end: Int)
    }

    /// Continues the search for the empty line that ends the block which begins at `start`.
    private mutating func block(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, scanned: Int, line: Int, ended: Bool
    ) -> Result<Block, Broken> {
        var start = start
        var lineStart = start + line
        var from = start + scanned
        while let end = LineScanner.lineFeed(in: bytes, from: from) {
            from = end + 1
            if end == lineStart || (end == lineStart + 1 && bytes[lineStart] == 0x0D) {
                if lineStart > start {
                    return Self.length(bytes, start..<lineStart, limits).map { .length($0, end: end + 1) }
                }
                start = end + 1
            }
            lineStart = end + 1
            if end - start > limits.header { return .failure(tooLong) }
        }
        // a carriage return may belong to the empty line, which the limit does not count
        let endsBlock = bytes.count == lineStart + 1 && bytes[lineStart] == 0x0D
        if (endsBlock ? lineStart : bytes.count) - start > limits.header { return .failure(tooLong) }
        if ended && !bytes[start...].allSatisfy(LineScanner.isSpace) {
            return .failure(Broken(reason: "the input ended inside a header"))
        }
        state = .block(scanned: bytes.count - start, line: lineStart - start)
        return .success(.unfinished(consumed: start))
    }

    private var tooLong: Broken { Broken(reason: "the header block is longer than \(limits.header) bytes") }

    private static func length(
        _ bytes: UnsafeBufferPointer<UInt8>, _ block: Range<Int>, _ limits: FrameLimits
    ) -> Result<Int, Broken> {
        if block.count > limits.header {
            return .failure(Broken(reason: "the header block is longer than \(limits.header) bytes"))
        }
        var length: Int?
        for line in bytes[block].split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                return .failure(Broken(reason: "a header line has no colon; write Content-Length: N"))
            }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = trimmed(line[(colon + 1)...])
            if name == "content-length" {
                guard let number = number(value) else {
                    return .failure(Broken(reason: "Content-Length must be a number of 1 to 15 digits"))
                }
                if let length, length != number {
                    return .failure(Broken(reason: "two different Content-Length fields"))
                }
                length = number
            } else if name == "content-type", !isUTF8(value) {
                return .failure(Broken(reason: "the charset of Content-Type must be utf-8"))
            }
        }
        guard let length else { return .failure(Broken(reason: "the header block has no Content-Length")) }
        return .success(length)
    }

    private static func trimmed(_ value: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
        var value = value
        while let first = value.first, LineScanner.isSpace(first) { value = value.dropFirst() }
        while let last = value.last, LineScanner.isSpace(last) { value = value.dropLast() }
        return value
    }

    /// A number of 1 to 15 digits, which always fits.
    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard (1...15).contains(digits.count) else { return nil }
        var number = 0
        for digit in digits {
            guard digit >= 0x30 && digit <= 0x39 else { return nil }
            number = number &* 10 &+ Int(digit &- 0x30)
        }
        return number
    }

    /// A missing charset counts as UTF-8, the only encoding of JSON (RFC 8259 section 8.1).
    private static func isUTF8(_ contentType: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        for parameter in contentType.split(separator: UInt8(ascii: ";")).dropFirst() {
            let text = String(decoding: trimmed(parameter), as: UTF8.self).lowercased()
            guard text.hasPrefix("charset") else { continue }
            let value = text.dropFirst("charset".count).drop { $0 == " " || $0 == "=" || $0 == "\"" }
            let name = value.prefix { $0 != "\"" && $0 != " " }
            if name != "utf-8" && name != "utf8" { return false }
        }
        return true
    }
}
