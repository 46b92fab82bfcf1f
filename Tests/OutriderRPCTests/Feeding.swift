// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// What a scanner said, in a form that can be compared: frames as text.
enum Seen: Equatable {
    case frame(String)
    case cut(String)
    case tooLong(String)
    case refused(String)
    case http
    case broken
}

/// Feeds bytes in pieces as a connection does: drops what is consumed, asks until there is nothing more.
struct Feeder {
    private var next: (UnsafeBufferPointer<UInt8>, Bool) -> FrameStep
    /// Refuses the frame that has begun.
    private(set) var refuse: () -> Void
    private var held: [UInt8] = []
    private(set) var seen: [Seen] = []
    private var over = false
    /// The most bytes that were ever held.
    private(set) var most = 0
    /// Bytes that were looked at, all calls together.
    private(set) var shown = 0

    init(_ scanner: FrameScanner) {
        var scanner = scanner
        next = { scanner.next($0, ended: $1) }
        refuse = { scanner.refuse() }
    }

    mutating func feed(_ bytes: some Sequence<UInt8>, ended: Bool = false) {
        if over { return }
        held.append(contentsOf: bytes)
        most = max(most, held.count)
        while !over {
            shown += held.count
            let next = next
            let (step, piece) = held.withUnsafeBufferPointer { bytes -> (FrameStep, String) in
                let step = next(bytes, ended)
                switch step {
                case .frame(let range, _), .cut(let range, _), .tooLong(let range, _), .refused(let range, _):
                    return (step, String(decoding: bytes[range], as: UTF8.self))
                default: return (step, "")
                }
            }
            switch step {
            case .more(let consumed):
                held.removeFirst(consumed)
                if consumed == 0 { return }
            case .frame(_, let consumed):
                held.removeFirst(consumed)
                seen.append(.frame(piece))
            case .cut(_, let consumed):
                held.removeFirst(consumed)
                seen.append(.cut(piece))
            case .tooLong(_, let consumed):
                held.removeFirst(consumed)
                seen.append(.tooLong(piece))
            case .refused(_, let consumed):
                held.removeFirst(consumed)
                seen.append(.refused(piece))
            case .http:
                seen.append(.http)
                over = true
            case .broken:
                seen.append(.broken)
                over = true
            }
        }
    }

    /// What is seen when the input comes in these pieces and then ends.
    static func seen(_ pieces: [[UInt8]], limits: FrameLimits = FrameLimits(), forced: Framing? = nil) -> [Seen] {
        var feeder = Feeder(FrameScanner(limits: limits, forced: forced))
        for piece in pieces { feeder.feed(piece) }
        feeder.feed([], ended: true)
        return feeder.seen
    }

    static func seen(_ text: String, limits: FrameLimits = FrameLimits(), forced: Framing? = nil) -> [Seen] {
        seen([Array(text.utf8)], limits: limits, forced: forced)
    }
}

func frame(_ text: String) -> String { "Content-Length: \(text.utf8.count)\r\n\r\n\(text)" }
