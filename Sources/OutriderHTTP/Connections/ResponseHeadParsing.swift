// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension ResponseHead {
    /// Parses a whole head with its empty line (RFC 9112 sections 4 and 5); lines may end in LF alone. Nil if
    /// malformed.
    package init?(parsing bytes: ArraySlice<UInt8>) {
        var (reader, position) = (ResponseReader(), 0)
        let part = bytes.withUnsafeBytes { try? reader.next($0, from: &position) }
        // empty lines before it are none of it
        guard bytes.first == UInt8(ascii: "H"), case .head(let head)? = part, position == bytes.count else {
            return nil
        }
        self = head
    }

    /// Parses a status line without its end (RFC 9112 section 4).
    init(statusLine line: ArraySlice<UInt8>) throws(ResponseFault) {
        let digits = { (index: Int) -> Int? in
            let byte = line[line.startIndex + index]
            return (0x30...0x39).contains(byte) ? Int(byte &- 0x30) : nil
        }
        guard line.count >= 12, line.starts(with: "HTTP/".utf8), line[line.startIndex + 6] == UInt8(ascii: "."),
            line[line.startIndex + 8] == 0x20, let major = digits(5), let minor = digits(7)
        else { throw .malformed("it does not begin with HTTP and a version") }
        guard line.count == 12 || line[line.startIndex + 12] == 0x20, let hundreds = digits(9), let tens = digits(10),
            let ones = digits(11), hundreds > 0
        else { throw .malformed("its status is not a number of three digits") }
        guard line.allSatisfy(HTTPFields.Field.mayHold) else {
            throw .malformed("its status line has a control character")
        }
        let reason = FieldRules.text(line.dropFirst(13)).text
        self.init(
            status: hundreds * 100 + tens * 10 + ones, reason: String(FieldRules.trimmed(reason[...])),
            version: HTTPVersion(major, minor))
    }
}

extension HTTPFields.Field {
    /// Parses a line of a head, or of trailers, without its end (RFC 9112 section 5).
    init(responseLine line: ArraySlice<UInt8>) throws(ResponseFault) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw .malformed("a field has no colon") }
        guard colon > line.startIndex, line[..<colon].allSatisfy(FieldRules.isTokenByte) else {
            throw .malformed("the name of a field has a character that no name may have")
        }
        try self.init(name: String(decoding: line[..<colon], as: UTF8.self), bytes: line[(colon + 1)...])
    }

    /// A value as the server wrote it, with white space around it.
    init(name: String, bytes: ArraySlice<UInt8>) throws(ResponseFault) {
        guard bytes.allSatisfy(Self.mayHold) else {
            throw .malformed("the value of \(FieldRules.shown(name)) has a control character")
        }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let last = bytes.lastIndex { !isBlank($0) }
        let value = last.map { bytes[...$0].drop(while: isBlank) } ?? []
        self.init(name, FieldRules.text(value, of: name))
    }

    fileprivate static func mayHold(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }
}
