// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Detects from the first bytes how a peer frames its messages, then scans frames. The framing stays for the whole
/// connection.
///
///     detecting ──{ or [──▶ line          detecting ──HTTP verb──▶ http (over)
///     detecting ──name:──▶ header         detecting ──else──▶ broken (over)
///
/// Responsible for: protocol section 3.1. Not responsible for: the content of a frame.
package struct FrameScanner {
    private enum State {
        case detecting(scanned: Int)
        case line(LineScanner)
        case header(HeaderScanner)
        case over
    }

    private let limits: FrameLimits
    private var state: State

    /// Detects the framing unless `forced` is given.
    package init(limits: FrameLimits = FrameLimits(), forced: Framing? = nil) {
        self.limits = limits
        state =
            switch forced {
            case nil: .detecting(scanned: 0)
            case .line: .line(LineScanner(limits: limits))
            case .header: .header(HeaderScanner(limits: limits))
            }
    }

    /// Nil until the framing is detected.
    package var framing: Framing? {
        switch state {
        case .line: .line
        case .header: .header
        case .detecting, .over: nil
        }
    }

    package mutating func next(_ bytes: UnsafeBufferPointer<UInt8>, ended: Bool = false) -> FrameStep {
        switch state {
        case .line(var scanner):
            defer { state = .line(scanner) }
            return scanner.next(bytes, ended: ended)
        case .header(var scanner):
            defer { state = .header(scanner) }
            return scanner.next(bytes, ended: ended)
        case .over: return .more(consumed: bytes.count)
        case .detecting(let scanned): return detect(bytes, scanned: scanned, ended: ended)
        }
    }

    private mutating func detect(_ bytes: UnsafeBufferPointer<UInt8>, scanned: Int, ended: Bool) -> FrameStep {
        guard let start = Self.first(in: bytes) else {
            return .more(consumed: ended ? bytes.count : Self.skippable(bytes))
        }
        switch bytes[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            state = .line(LineScanner(limits: limits))
            return start == 0 ? next(bytes, ended: ended) : .more(consumed: start)
        default: break
        }
        var end = max(start, scanned)
        while end < bytes.count, Self.isName(bytes[end]) { end += 1 }
        guard end < bytes.count else {
            if ended || end - start > limits.header { return refuse() }
            state = .detecting(scanned: end - start)
            return .more(consumed: start)
        }
        if bytes[end] == UInt8(ascii: ":"), end > start {
            state = .header(HeaderScanner(limits: limits))
            return start == 0 ? next(bytes, ended: ended) : .more(consumed: start)
        }
        if bytes[end] == 0x20, Self.verbs.contains(String(decoding: bytes[start..<end], as: UTF8.self)) {
            state = .over
            return .http
        }
        return refuse()
    }

    private mutating func refuse() -> FrameStep {
        state = .over
        return .broken(
            "neither JSON nor a Content-Length header; send one message per line, or Content-Length frames")
    }

    private static let verbs: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PRI", "PUT", "TRACE",
    ]

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The first significant byte, after a byte order mark and white space. Nil if that byte has not come yet.
    private static func first(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let start = skippable(bytes)
        if start < bytes.count, bytes.count < mark.count, bytes.elementsEqual(mark.prefix(bytes.count)) { return nil }
        return start < bytes.count ? start : nil
    }

    private static func skippable(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var start = bytes.starts(with: mark) ? mark.count : 0
        while start < bytes.count, LineScanner.isSpace(bytes[start]) { start += 1 }
        return start
    }

    /// Letters, digits and hyphens: the characters in the names of the header fields.
    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
