// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A URL with gaps: `*` stands for any text, `{name}` for one segment of the path.
///
/// A pattern that begins with `/` fits every host. A pattern with a query compares the query as text; without one, any query
/// fits.
package struct URLPattern: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text([UInt8])
        case anything
        case segment
    }

    package let text: String
    private let pieces: [Piece]
    private let hasOrigin: Bool
    private let hasQuery: Bool

    /// Throws a complaint about a pattern that can fit no URL.
    package init(_ text: String) throws(PatternFault) {
        self.text = text
        hasOrigin = !text.hasPrefix("/")
        hasQuery = text.utf8.contains(UInt8(ascii: "?"))
        let schemes = [
            "http://", "https://", "ws://", "wss://", "*", "/", "http+unix://", "https+unix://", "tcp://", "tls://",
        ]
        guard schemes.contains(where: { text.hasPrefix($0) }) else {
            throw PatternFault("must begin with a scheme such as https://, with / for every host, or with *")
        }
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else {
            throw PatternFault("must be ASCII without spaces: percent-encode other characters, or put * in their place")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else {
            throw PatternFault("must not have a fragment, which no server gets")
        }
        pieces = try Self.pieces(of: Self.lowered(text))
    }

    /// With http in place of ws, and https in place of wss: an attempt to open a WebSocket has such a URL.
    static func withoutWebSocket(_ url: String) -> String {
        if url.hasPrefix("ws://") { return "http" + url.dropFirst(2) }
        return url.hasPrefix("wss://") ? "https" + url.dropFirst(3) : url
    }

    /// Scheme and host in lower case, as URLs have them.
    private static func lowered(_ text: String) -> String {
        let parts = URLParts(withoutWebSocket(text))
        let query = parts.query.map { "?" + $0 } ?? ""
        return withoutDefaultPort(parts.origin.lowercased()) + parts.path + query
    }

    private static func withoutDefaultPort(_ origin: String) -> String {
        // a port behind a gap stays, since the gap alone would fit every port
        guard !origin.utf8.contains(UInt8(ascii: "*")), !origin.utf8.contains(UInt8(ascii: "}")) else { return origin }
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")]
        where origin.hasPrefix(scheme) && origin.hasSuffix(port) { return String(origin.dropLast(port.count)) }
        return origin
    }

    private static func pieces(of text: String) throws(PatternFault) -> [Piece] {
        var pieces: [Piece] = []
        var literal: [UInt8] = []
        func end() {
            if !literal.isEmpty { pieces.append(.text(literal)) }
            literal = []
        }
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                end()
                if pieces.last != .anything { pieces.append(.anything) }
            case UInt8(ascii: "{"):
                guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else {
                    throw PatternFault("must close each { with a name and }")
                }
                rest = rest[(close + 1)...]
                end()
                pieces.append(.segment)
            default: literal.append(byte)
            }
        }
        end()
        return pieces
    }

    package func fits(_ url: String) -> Bool {
        let parts = URLParts(url)
        var subject = hasOrigin ? parts.origin + parts.path : parts.path
        if parts.path.isEmpty { subject += "/" }
        if hasQuery, let query = parts.query { subject += "?" + query }
        if Self.fits(Array(subject.utf8)[...], pieces[...]) { return true }
        // `https://host` means its root
        return (parts.path.isEmpty || parts.path == "/") && Self.fits(Array(subject.utf8).dropLast(), pieces[...])
    }

    /// Greedy from left to right, with one place to go back to: the work is bounded by text times pattern.
    private static func fits(_ text: ArraySlice<UInt8>, _ pieces: ArraySlice<Piece>) -> Bool {
        var (text, pieces) = (text, pieces)
        var retry: (text: ArraySlice<UInt8>, pieces: ArraySlice<Piece>)?
        while true {
            if let piece = pieces.first {
                switch piece {
                case .anything:
                    pieces = pieces.dropFirst()
                    retry = (text, pieces)
                    continue
                case .segment:
                    let end = text.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
                    let mark = text[..<end].firstIndex(of: UInt8(ascii: "?")) ?? end
                    // the literal behind the name may stand within the segment: `{id}.json`
                    let stop = boundary(of: pieces.dropFirst().first, in: text[..<mark]) ?? mark
                    if stop > text.startIndex {
                        text = text[stop...]
                        pieces = pieces.dropFirst()
                        continue
                    }
                case .text(let literal):
                    if text.starts(with: literal) {
                        text = text.dropFirst(literal.count)
                        pieces = pieces.dropFirst()
                        continue
                    }
                }
            } else if text.isEmpty {
                return true
            }
            guard let last = retry, !last.text.isEmpty else { return false }
            retry = (last.text.dropFirst(), last.pieces)
            (text, pieces) = (last.text.dropFirst(), last.pieces)
        }
    }

    private static func boundary(of next: Piece?, in segment: ArraySlice<UInt8>) -> Int? {
        guard case .text(let literal)? = next else { return nil }
        let head = literal.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        if head.isEmpty { return nil }
        // a literal that goes on in the next segment ends this one
        let endsSegment = head.count < literal.count
        return segment.indices.dropFirst().last {
            segment[$0...].starts(with: head) && (!endsSegment || segment.endIndex - $0 == head.count)
        }
    }
}

/// Why a pattern fits no URL.
package struct PatternFault: Error, Equatable {
    package var message: String

    init(_ message: String) { self.message = message }
}
