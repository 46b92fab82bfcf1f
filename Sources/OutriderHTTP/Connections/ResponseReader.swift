// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Why bytes are not a response.
package enum ResponseFault: Error, Equatable {
    /// They break the syntax of RFC 9112.
    case malformed(String)
    /// A head, or the trailers, are longer than `ResponseReader` allows.
    case tooLong
    /// The line before a chunk, with its extensions, is longer than `ResponseReader` allows.
    case chunkLineTooLong
}

/// Parses the responses on a connection (RFC 9112): heads, bodies by their framing, and trailers. Bytes may arrive in
/// pieces of any size.
///
/// Stricter than most servers' clients where one response could be taken for two: sizes and ends of chunks. Lines of
/// heads may end in LF alone (section 2.2) and be folded (section 5.2).
package struct ResponseReader: Sendable {
    package enum Part: Equatable {
        /// A head; `begin` must follow if it is final.
        case head(ResponseHead)
        /// These bytes of the input belong to the body.
        case body(Range<Int>)
        case end(trailers: HTTPFields)
    }

    private enum Place {
        /// Before or within a head.
        case head
        /// Behind a final head whose framing is not known, or behind a response.
        case stop
        case length(Int64)
        case untilClose
        case chunkSize(ChunkSize)
        case chunk(Int64)
        /// Behind the bytes of a chunk.
        case chunkEnd
        case trailers
    }

    /// Bytes of names and values of all fields of a head, or of all trailers.
    package static let mostBytes = 64 << 10
    /// Fields of a response, trailers included.
    package static let mostFields = 1_000
    /// The line before a chunk.
    package static let mostChunkLineBytes = 16 << 10
    /// Empty lines before a head.
    package static let mostEmptyLines = 16

    private var place = Place.head
    /// The line that has come in part.
    private var line: [UInt8] = []
    /// The empty lines before the head that is being parsed.
    private var emptyLines = 0
    /// The status line of the head that is being parsed.
    private var head: ResponseHead?
    private var fields = ResponseFields()

    package init() {}

    /// The head was final, and its body has this framing.
    package mutating func begin(_ framing: BodyFraming) {
        switch framing {
        case .none: place = .length(0)
        case .length(let length): place = .length(length)
        case .chunked: place = .chunkSize(ChunkSize())
        case .untilClose: place = .untilClose
        }
    }

    /// The next part of the response, which ends at the new `position`; nil if that needs more bytes.
    package mutating func next(
        _ bytes: UnsafeRawBufferPointer, from position: inout Int
    ) throws(ResponseFault) -> Part? {
        while true {
            switch place {
            case .stop: return nil
            case .head:
                guard let head = try nextHead(bytes, from: &position) else { return nil }
                return .head(head)
            case .length(let left):
                guard left > 0 else { return end() }
                guard let body = Self.take(left, of: bytes, from: &position) else { return nil }
                place = .length(left &- Int64(body.count))  // safe: Int is not wider
                return .body(body)
            case .untilClose: return Self.take(.max, of: bytes, from: &position).map { .body($0) }
            case .chunkSize(var size):
                let found = try size.read(bytes, from: &position)
                guard let found else {
                    place = .chunkSize(size)
                    return nil
                }
                place = found > 0 ? .chunk(found) : .trailers
            case .chunk(let left):
                guard let body = Self.take(left, of: bytes, from: &position) else { return nil }
                let rest = left &- Int64(body.count)  // safe: Int is not wider
                place = rest > 0 ? .chunk(rest) : .chunkEnd
                return .body(body)
            case .chunkEnd:
                guard try isLineOver(bytes, from: &position) else { return nil }
                place = .chunkSize(ChunkSize())
            case .trailers:
                guard try nextLine(bytes, from: &position) else { return nil }
                if line.isEmpty { return end() }
                try fields.add(line)
                line.removeAll(keepingCapacity: true)
            }
        }
    }

    private mutating func end() -> Part {
        defer { (place, fields) = (.head, ResponseFields()) }
        return .end(trailers: HTTPFields(fields.list))
    }

    private static func take(
        _ most: Int64, of bytes: UnsafeRawBufferPointer, from position: inout Int
    ) -> Range<Int>? {
        let count = Int(min(most, Int64(bytes.count &- position)))  // safe: at most the count of the bytes
        guard count > 0 else { return nil }
        defer { position &+= count }
        return position..<position &+ count
    }

    // MARK: heads

    private mutating func nextHead(
        _ bytes: UnsafeRawBufferPointer, from position: inout Int
    ) throws(ResponseFault) -> ResponseHead? {
        if head == nil, line.isEmpty, let plain = PlainHead(UnsafeRawBufferPointer(rebasing: bytes[position...])) {
            position &+= plain.bytes
            (place, emptyLines) = (.stop, 0)
            return plain.head
        }
        while try nextLine(bytes, from: &position) {
            defer { line.removeAll(keepingCapacity: true) }
            guard var head else {
                // empty lines may be left over from an earlier response
                if line.isEmpty { try passEmptyLine() } else { head = try ResponseHead(statusLine: line[...]) }
                continue
            }
            guard line.isEmpty else {
                try fields.add(line)
                continue
            }
            head.fields = HTTPFields(fields.list)
            // the number of fields goes on with the trailers
            fields.startOver()
            self.head = nil
            emptyLines = 0
            place = head.status < 200 && head.status != 101 ? .head : .stop
            return head
        }
        return nil
    }

    /// Their number is limited, as is everything in a head.
    private mutating func passEmptyLine() throws(ResponseFault) {
        emptyLines &+= 1
        guard emptyLines <= Self.mostEmptyLines else {
            throw .malformed("more than \(Self.mostEmptyLines) empty lines stand before it")
        }
    }

    /// Completes `line`, without its end; false if more bytes are needed.
    private mutating func nextLine(
        _ bytes: UnsafeRawBufferPointer, from position: inout Int
    ) throws(ResponseFault) -> Bool {
        let rest = bytes[position...]
        let end = rest.firstIndex(of: 0x0A)
        line.append(contentsOf: rest[..<(end ?? rest.endIndex)])
        if case .head = place, head == nil { try checkStart() }
        guard line.count <= Self.mostBytes &+ 1024 else { throw .tooLong }
        guard let end else {
            position = bytes.count
            return false
        }
        position = end &+ 1
        if line.last == 0x0D { line.removeLast() }
        return true
    }

    /// Refuses a line that cannot be a status line at its first wrong byte: a server of another protocol may wait for
    /// bytes of the client instead of ending its line.
    private func checkStart() throws(ResponseFault) {
        guard let first = line.first, first != 0x0D,
            !line.prefix(5).elementsEqual("HTTP/".utf8.prefix(line.count))
        else { return }
        switch first {
        // an alert, or a handshake
        case 0x15, 0x16: throw .malformed("it is TLS (use https or wss)")
        // the length of SETTINGS
        case 0: throw .malformed("it begins as in HTTP/2 (use httpVersion \"2\")")
        default: throw .malformed("it does not begin with HTTP and a version")
        }
    }

    /// Whether CR and LF have come, and nothing else.
    private mutating func isLineOver(
        _ bytes: UnsafeRawBufferPointer, from position: inout Int
    ) throws(ResponseFault) -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            position &+= 1
            switch (line.isEmpty, byte) {
            case (true, 0x0D): line = [byte]
            case (false, 0x0A):
                line = []
                return true
            default: throw .malformed("a chunk is longer than its size says")
            }
        }
        return false
    }
}

/// The line before a chunk: its size in hexadecimal digits, and extensions, which are skipped (RFC 9112 section 7.1).
private struct ChunkSize: Sendable {
    private enum Place {
        case digits
        /// White space, which only an extension or the end of the line may follow.
        case blank
        case `extension`
        case lineFeed
    }

    private var place = Place.digits
    private var size: Int64 = 0
    private var count = 0

    /// The size; nil if the line is not complete.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, from position: inout Int
    ) throws(ResponseFault) -> Int64? {
        while position < bytes.count {
            let byte = bytes[position]
            position &+= 1
            count &+= 1
            switch (place, byte) {
            case (.lineFeed, 0x0A): return size
            case (.lineFeed, _): throw .malformed("the line of a chunk has a CR in it")
            case (.digits, _):
                if let digit = Self.digit(byte) {
                    guard size >> 59 == 0 else { throw .malformed("a chunk is larger than any body") }
                    size = size << 4 | digit
                } else if count > 1 {
                    try leaveDigits(byte)
                } else {
                    throw .malformed("a chunk has no size in hexadecimal digits")
                }
            case (_, 0x0D): place = .lineFeed
            case (.blank, 0x20), (.blank, 0x09): break
            case (.blank, UInt8(ascii: ";")): place = .extension
            case (.extension, 0x09), (.extension, 0x20...0x7E), (.extension, 0x80...0xFF): break
            default: throw .malformed("the size of a chunk is not a hexadecimal number")
            }
            guard count <= ResponseReader.mostChunkLineBytes else { throw .chunkLineTooLong }
        }
        return nil
    }

    private mutating func leaveDigits(_ byte: UInt8) throws(ResponseFault) {
        switch byte {
        case 0x0D: place = .lineFeed
        case 0x20, 0x09: place = .blank
        case UInt8(ascii: ";"): place = .extension
        default: throw .malformed("the size of a chunk is not a hexadecimal number")
        }
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        switch byte {
        case 0x30...0x39: Int64(byte &- 0x30)
        case 0x41...0x46: Int64(byte &- 0x37)
        case 0x61...0x66: Int64(byte &- 0x57)
        default: nil
        }
    }
}

/// The fields of a head, or trailers, line by line.
private struct ResponseFields: Sendable {
    private(set) var list: [HTTPFields.Field] = []
    private var bytes = 0
    private var count = 0

    /// Forgets the fields, but not their number.
    mutating func startOver() { (list, bytes) = ([], 0) }

    mutating func add(_ line: [UInt8]) throws(ResponseFault) {
        if line.first == 0x20 || line.first == 0x09 { return try fold(line) }
        let field = try HTTPFields.Field(responseLine: line[...])
        count &+= 1
        try weigh(field.name.utf8.count &+ field.value.utf8.count)
        list.append(field)
    }

    /// A line that continues the value of the line before (RFC 9112 section 5.2).
    private mutating func fold(_ line: [UInt8]) throws(ResponseFault) {
        guard let last = list.indices.last else { throw .malformed("white space stands before the first field") }
        let field = try HTTPFields.Field(name: list[last].name, bytes: line[...])
        try weigh(field.value.utf8.count &+ 1)
        let separator = list[last].value.isEmpty || field.value.isEmpty ? "" : " "
        list[last] = HTTPFields.Field(field.name, FieldText.joined([list[last].text, field.text], by: separator))
    }

    private mutating func weigh(_ more: Int) throws(ResponseFault) {
        bytes &+= more
        guard bytes <= ResponseReader.mostBytes, count <= ResponseReader.mostFields else { throw .tooLong }
    }
}
