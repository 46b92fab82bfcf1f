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
        /// A byte order mark may stand at the beginning of the connection only.
        case detecting(scanned: Int, isBeginning: Bool)
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
            case nil: .detecting(scanned: 0, isBeginning: true)
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
        case .detecting(let scanned, let isBeginning):
            return detect(bytes, scanned: scanned, isBeginning: isBeginning, ended: ended)
        }
    }

    /// Gives up the frame that has begun, as if the frame were over the limit.
    package mutating func refuse() {
        switch state {
        case .line(var scanner):
            scanner.refuse()
            state = .line(scanner)
        case .header(var scanner):
            scanner.refuse()
            state = .header(scanner)
        case .detecting, .over: break
        }
    }

    private mutating func detect(
        _ bytes: UnsafeBufferPointer<UInt8>, scanned: Int, isBeginning: Bool, ended: Bool
    ) -> FrameStep {
        guard let start = Self.first(in: bytes, isBeginning) else {
            let skipped = ended ? bytes.count : Self.skippable(bytes, isBeginning)
            state = .detecting(scanned: 0, isBeginning: isBeginning && skipped == 0)
            return .more(consumed: skipped)
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
            if ended || end - start > limits.header { return unknown() }
            state = .detecting(scanned: end - start, isBeginning: isBeginning && start == 0)
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
        return unknown()
    }

    private mutating func unknown() -> FrameStep {
        state = .over
        return .broken(
            "neither JSON nor a Content-Length header; send one message per line, or Content-Length frames")
    }

    private static let verbs: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PRI", "PUT", "TRACE",
    ]

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The first significant byte, after a byte order mark and white space. Nil if that byte has not come yet.
    private static func first(in bytes: UnsafeBufferPointer<UInt8>, _ isBeginning: Bool) -> Int? {
        let start = skippable(bytes, isBeginning)
        let mayBeMark = isBeginning && bytes.count < mark.count
        if start < bytes.count, mayBeMark, bytes.elementsEqual(mark.prefix(bytes.count)) { return nil }
        return start < bytes.count ? start : nil
    }

    private static func skippable(_ bytes: UnsafeBufferPointer<UInt8>, _ isBeginning: Bool) -> Int {
        var start = isBeginning && bytes.starts(with: mark) ? mark.count : 0
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
