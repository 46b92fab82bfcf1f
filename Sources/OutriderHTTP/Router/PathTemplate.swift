// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A path with names in braces: `/users/{id}/files/{+path}` (RFC 6570, level 1, and `+` of level 2).
///
/// A value cannot leave its segment: all but unreserved characters are percent-encoded, and a segment that would become
/// `.` or `..` is refused. With `+` slashes stay; all else is the same.
package struct PathTemplate: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text(String)
        case name(String, isReserved: Bool)
    }

    /// As written.
    package let text: String
    private let pieces: [Piece]

    private static let mostPieces = 256

    /// Throws a complaint about the path itself.
    package init(_ text: String) throws(JSONComplaint) {
        self.text = text
        if text.utf8.count > HTTPURL.maximumLength {
            throw JSONComplaint("is longer than \(HTTPURL.maximumLength) bytes")
        }
        if text.utf8.contains(UInt8(ascii: "#")) { throw JSONComplaint("must not have a fragment") }
        var pieces: [Piece] = []
        var rest = text[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if brace > rest.startIndex { pieces.append(.text(String(rest[..<brace]))) }
            guard rest[brace] == "{", let end = rest[brace...].firstIndex(of: "}") else {
                throw JSONComplaint("has a brace without its other half: write {name}")
            }
            pieces.append(try Self.name(rest[rest.index(after: brace)..<end]))
            if pieces.count > Self.mostPieces { throw JSONComplaint("has too many names in braces") }
            rest = rest[rest.index(after: end)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    private static func name(_ text: Substring) throws(JSONComplaint) -> Piece {
        let isReserved = text.hasPrefix("+")
        let name = isReserved ? text.dropFirst() : text
        let isPlain =
            !name.isEmpty
            && name.unicodeScalars.allSatisfy { $0.value > 0x20 && !"{}/?#&;,*:=!@|".unicodeScalars.contains($0) }
        guard isPlain, name.utf8.count <= 128, !name.hasPrefix("."), !name.hasPrefix("+") else {
            throw JSONComplaint("has {\(text.prefix(40))}: only {name} and {+name} are known")
        }
        return .name(String(name), isReserved: isReserved)
    }

    /// The names, each once, in order.
    package var names: [String] {
        var names: [String] = []
        for case .name(let name, _) in pieces where !names.contains(name) { names.append(name) }
        return names
    }

    /// The path with values in place of names. Throws `missingPathParameter` or `parametersDoNotFit`, whose pointer is
    /// that of the value within the values.
    func expanded(_ value: (String) -> ExpandedValue?) throws(HTTPFailure) -> String {
        var path = ""
        for piece in pieces {
            switch piece {
            case .text(let text): path += text
            case .name(let name, let isReserved):
                guard let value = value(name), !value.texts.isEmpty else { throw missing(name) }
                let allowed = isReserved ? Self.reserved : PercentEncoding.segment
                let text = value.texts.map { allowed.escape($0) }.joined(separator: value.separator)
                if text.isEmpty { throw missing(name) }
                path += text
            }
        }
        if Self.dotSegments(path) != Self.dotSegments(text) {
            let names = names.joined(separator: ", ")
            throw HTTPFailure(
                .parametersDoNotFit,
                "a segment of \(text.excerpt) would become . or .., and leave its place: check \(names.excerpt)",
                pointer: names.contains(",") ? "" : JSONPointer(member: names).description)
        }
        return path
    }

    private func missing(_ name: String) -> HTTPFailure {
        HTTPFailure(
            .missingPathParameter, "\(text.excerpt) needs \(name.excerpt), which is missing or empty",
            pointer: JSONPointer(member: name).description)
    }

    /// Keeps slashes, but encodes characters that would end the path, and the percent sign, so that values survive a
    /// round trip.
    private static let reserved = PercentEncoding(keeping: "-._~/:@!$&'()*+,;=")

    private static func dotSegments(_ path: String) -> Int {
        let plain = Array(path.utf8.prefix { $0 != UInt8(ascii: "?") })
        let dot = UInt8(ascii: ".")
        return plain.split(separator: UInt8(ascii: "/")).count { segment in
            guard segment.count <= 6 else { return false }
            let decoded = PercentEncoding.decode(segment)
            return decoded == [dot] || decoded == [dot, dot]
        }
    }
}

/// The texts of a value, and their separator.
struct ExpandedValue {
    var texts: [String]
    var separator = ","
}
