// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A form as pieces for the wire (RFC 2046 section 5.1.1, RFC 7578): no bytes before the first delimiter, CRLF behind
/// the last. A form without parts is empty.
package struct MultipartLayout: Sendable {
    package let pieces: [ComposedBody.Piece]
    /// The bytes of the parts alone, without delimiters and fields, and without streams of unknown length.
    package let partBytes: Int64

    /// - Parameter fileSizes: of the parts that are files, by the part's place in the list.
    package init(_ form: MultipartForm, fileSizes: [Int: Int64]) throws(HTTPFailure) {
        if let fault = MultipartForm.fault(inBoundary: form.boundary) {
            throw HTTPFailure(.parameterEncoderFailed, fault, pointer: form.boundaryPlace ?? form.place)
        }
        var writer = Writer()
        var partBytes: Int64 = 0
        for (index, part) in form.parts.enumerated() {
            let place = "\(form.place)/\(index)"
            writer.add("\(index == 0 ? "" : "\r\n")--\(form.boundary)\r\n")
            let piece = try Self.piece(part, fileSizes[index], at: "\(place)/\(part.key)")
            writer.add(try Self.head(of: part, form.escaping, at: place))
            if case .bytes(let bytes) = piece, form.boundaryPlace != nil, Self.holds(bytes, "--\(form.boundary)") {
                throw HTTPFailure(
                    .parameterEncoderFailed, "the boundary occurs in part \(index): use another, or none at all",
                    pointer: form.boundaryPlace)
            }
            writer.add(piece)
            let (sum, overflows) = partBytes.addingReportingOverflow(piece.size ?? 0)
            partBytes = overflows ? .max : sum
        }
        if !form.parts.isEmpty { writer.add("\r\n--\(form.boundary)--\r\n") }
        pieces = writer.finish()
        self.partBytes = partBytes
    }

    /// In memory if the pieces are bytes alone.
    package var body: AttemptBody {
        if pieces.isEmpty { return .bytes([]) }
        if pieces.count == 1, case .bytes(let bytes) = pieces[0] { return .bytes(bytes) }
        return .composed(ComposedBody(pieces))
    }

    private static func piece(
        _ part: MultipartForm.Part, _ fileSize: Int64?, at pointer: String
    ) throws(HTTPFailure) -> ComposedBody.Piece {
        switch part.content {
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let path):
            if let failure = fault(inPath: path, of: part, at: pointer) { throw failure }
            return .file(path: path, size: max(0, fileSize ?? 0), pointer: pointer)
        case .stream(_, let feed, let length):
            guard let feed else {
                throw HTTPFailure(
                    .bodyPartInputStreamCreationFailed, "the stream of \(shown(part)) is not open", pointer: pointer)
            }
            return .feed(feed, length: length, pointer: pointer)
        }
    }

    /// Why a part's path is invalid, before the file is opened.
    package static func fault(inPath path: String, of part: MultipartForm.Part, at pointer: String) -> HTTPFailure? {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            return HTTPFailure(
                .bodyPartURLInvalid,
                "the file of \(shown(part)): \(FilePath.fault(path))",
                pointer: pointer)
        }
        guard part.filename != nil || !lastComponent(of: path).isEmpty else {
            return HTTPFailure(
                .bodyPartFilenameInvalid,
                "the path \(FieldRules.shown(path)) of \(shown(part)) does not end in a file name: give filename",
                pointer: pointer)
        }
        return nil
    }

    package static func shown(_ part: MultipartForm.Part) -> String { "part \(FieldRules.shown(part.name))" }

    private static func lastComponent(of path: String) -> String {
        String(decoding: path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed(), as: UTF8.self)
    }

    // MARK: the fields of a part

    private static func head(
        of part: MultipartForm.Part, _ escaping: MultipartForm.Escaping, at place: String
    ) throws(HTTPFailure) -> String {
        var head = ""
        var filename = part.filename
        let given = part.fields.first("Content-Disposition")
        // a Content-Disposition of the caller without a file name: the name of the file has no meaning
        let isNamed = given.map { ContentDisposition(parsing: $0).filename != nil } ?? true
        if filename == nil, isNamed, case .file(let path) = part.content { filename = lastComponent(of: path) }
        if given == nil {
            head +=
                "Content-Disposition: form-data; name=\"\(try escaped(part.name, escaping, isName: true, "\(place)/name"))\""
            if let filename {
                head += "; filename=\"\(try escaped(filename, escaping, isName: false, "\(place)/filename"))\""
            }
            head += "\r\n"
        }
        let type = part.mimeType ?? part.impliedType ?? filename.map(MediaTypes.type(ofFileNamed:))
        if let type, !part.fields.contains("Content-Type") {
            guard FieldRules.fault(inField: "Content-Type", type) == nil else {
                throw HTTPFailure(
                    .parameterEncoderFailed, "mimeType holds a line break or control character",
                    pointer: "\(place)/mimeType")
            }
            head += "Content-Type: \(type)\r\n"
        }
        for (index, field) in part.fields.list.enumerated() {
            if let fault = fault(in: field) {
                let name = part.listsFields ? JSONPointer(index: index) : JSONPointer(member: field.name.excerpt)
                throw HTTPFailure(.parameterEncoderFailed, fault, pointer: "\(place)/headers\(name)")
            }
            head += "\(field.name): \(field.value)\r\n"
        }
        return head + "\r\n"
    }

    /// In a part, fields of the connection are harmless.
    private static func fault(in field: HTTPFields.Field) -> String? {
        guard FieldRules.isToken(field.name) else {
            return "the header name \(FieldRules.shown(field.name)) is no token"
        }
        return FieldRules.fault(inField: "X", field.value) == nil
            ? nil : "the value of \(field.name) contains a line break or control character"
    }

    private static func escaped(
        _ text: String, _ escaping: MultipartForm.Escaping, isName: Bool, _ pointer: String
    ) throws(HTTPFailure) -> String {
        // as nearly always
        if !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x7F }) { return text }
        if text.utf8.contains(0) {
            throw HTTPFailure(.parameterEncoderFailed, "a name in a form cannot hold U+0000", pointer: pointer)
        }
        switch escaping {
        case .none:
            if text.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
                throw HTTPFailure(
                    .parameterEncoderFailed, "a line break cannot be written without escaping", pointer: pointer)
            }
            return text
        case .percent: return percentEscaped(text, endsLinesInCRLF: isName)
        }
    }

    private static func percentEscaped(_ text: String, endsLinesInCRLF: Bool) -> String {
        var out = ""
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "%22"
            case "\r": out += endsLinesInCRLF ? "%0D%0A" : "%0D"
            case "\n": out += !endsLinesInCRLF ? "%0A" : last == "\r" ? "" : "%0D%0A"
            default: out.unicodeScalars.append(scalar)
            }
            last = scalar
        }
        return out
    }

    private static func holds(_ bytes: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard let first = wanted.first, bytes.count >= wanted.count else { return false }
        var start = 0
        let end = bytes.count - wanted.count
        while start <= end {
            if bytes[start] == first, bytes[start..<start + wanted.count].elementsEqual(wanted) { return true }
            start += 1
        }
        return false
    }
}

/// Joins pieces; adjacent bytes are merged.
private struct Writer {
    private var pieces: [ComposedBody.Piece] = []
    private var bytes: [UInt8] = []

    mutating func add(_ text: String) { bytes += text.utf8 }

    mutating func add(_ piece: ComposedBody.Piece) {
        if case .bytes(let more) = piece {
            bytes += more
            return
        }
        flush()
        pieces.append(piece)
    }

    private mutating func flush() {
        if !bytes.isEmpty { pieces.append(.bytes(bytes)) }
        bytes = []
    }

    consuming func finish() -> [ComposedBody.Piece] {
        flush()
        return pieces
    }
}
