// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Forms on paper: bytes, names, types and faults.
@Suite struct MultipartTests {
    private typealias Part = MultipartForm.Part

    private static func form(_ parts: [Part], boundary: String = "b") -> MultipartForm {
        var form = MultipartForm(parts, boundary: boundary, place: "/parts")
        form.boundaryPlace = "/boundary"
        return form
    }

    private static func text(_ name: String, _ text: String) -> Part {
        Part(name, .bytes(Array(text.utf8)), key: "text")
    }

    private static func bytes(_ form: MultipartForm) throws -> [UInt8] {
        guard case .bytes(let bytes) = try MultipartLayout(form, fileSizes: [:]).body else { return [] }
        return bytes
    }

    private static func written(_ form: MultipartForm) throws -> String {
        String(decoding: try bytes(form), as: UTF8.self)
    }

    private static func fault(_ form: MultipartForm) -> (HTTPFailure.Kind, String?)? {
        do throws(HTTPFailure) {
            _ = try MultipartLayout(form, fileSizes: [:])
            return nil
        } catch {
            return (error.kind, error.pointer)
        }
    }

    @Test func `one part is written byte for byte [Q3] [3.N.4]`() throws {
        let form = Self.form([Self.text("data", "Lorem ipsum dolor sit amet.")])
        #expect(
            try Self.written(form)
                == "--b\r\nContent-Disposition: form-data; name=\"data\"\r\n\r\nLorem ipsum dolor sit amet.\r\n--b--\r\n"
        )
    }

    @Test func `between two parts stands one delimiter, and each may say its type and name [Q5]`() throws {
        var second = Part("two", .bytes([0, 0xFF]), key: "base64")
        second.filename = "f.png"
        second.mimeType = "image/x"
        let bytes = try Self.bytes(Self.form([Self.text("one", "1"), second]))
        let head = "--b\r\nContent-Disposition: form-data; name=\"one\"\r\n\r\n1\r\n--b\r\n"
        let next = "Content-Disposition: form-data; name=\"two\"; filename=\"f.png\"\r\nContent-Type: image/x\r\n\r\n"
        #expect(bytes == Array(head.utf8) + Array(next.utf8) + [0, 0xFF] + Array("\r\n--b--\r\n".utf8))
    }

    @Test func `with a random boundary two parts in other scripts are 241 bytes [3.N.21]`() throws {
        let parts = [Self.text("french", "français"), Self.text("japanese", "日本語")]
        let form = MultipartForm(parts, boundary: MultipartForm.boundary(random: 7), place: "")
        #expect(try Self.bytes(form).count == 241)
    }

    @Test func `a random boundary has sixteen digits [3.N.2]`() {
        #expect(MultipartForm.boundary(random: 0) == "outrider.form-data.0000000000000000")
        #expect(MultipartForm.boundary(random: .max) == "outrider.form-data.ffffffffffffffff")
        #expect(MultipartForm.fault(inBoundary: MultipartForm.boundary(random: 1)) == nil)
    }

    @Test func `a form without parts is empty [Q15]`() throws {
        #expect(try Self.bytes(Self.form([])) == [])
    }

    @Test func `the length of the parts alone is known [Q10] [3.N.3]`() throws {
        let form = Self.form([Self.text("a", "12345"), Self.text("b", "678")])
        #expect(try MultipartLayout(form, fileSizes: [:]).partBytes == 8)
    }

    @Test(arguments: [
        ("plain", "plain"), ("a\"b", "a%22b"), ("a\nb", "a%0D%0Ab"), ("a\rb", "a%0D%0Ab"), ("a\r\nb", "a%0D%0Ab"),
        ("a\n\nb", "a%0D%0A%0D%0Ab"), ("ä日", "ä日"), ("a%22b", "a%22b"), ("a\\b", "a\\b"), ("", ""),
    ])
    func `names are escaped as browsers do it [Q4]`(name: String, expected: String) throws {
        let written = try Self.written(Self.form([Self.text(name, "x")]))
        #expect(written.contains("; name=\"\(expected)\"\r\n\r\nx"))
    }

    @Test(arguments: [("a\nb", "a%0Ab"), ("a\rb", "a%0Db"), ("a\r\nb", "a%0D%0Ab"), ("q\"", "q%22")])
    func `file names keep their line breaks apart [Q4]`(name: String, expected: String) throws {
        var part = Self.text("n", "x")
        part.filename = name
        #expect(try Self.written(Self.form([part])).contains("; filename=\"\(expected)\"\r\n"))
    }

    @Test func `without escaping names stay as they are, unless they would break the line [Q4]`() throws {
        var form = Self.form([Self.text("a\"b", "x")])
        form.escaping = .none
        #expect(try Self.written(form).contains("; name=\"a\"b\"\r\n"))
        form.parts = [Self.text("a\nb", "x")]
        #expect(Self.fault(form)?.0 == .parameterEncoderFailed)
        #expect(Self.fault(form)?.1 == "/parts/0/name")
    }

    @Test func `the fields of a part go behind its own, and replace them [Q18]`() throws {
        var part = Self.text("n", "x")
        part.mimeType = "a/b"
        part.fields = [.init("X-A", "1"), .init("content-type", "c/d")]
        #expect(
            try Self.written(Self.form([part])).contains("name=\"n\"\r\nX-A: 1\r\ncontent-type: c/d\r\n\r\nx"))
        part.fields = [.init("Content-Disposition", "attachment")]
        #expect(
            try Self.written(Self.form([part])).hasPrefix(
                "--b\r\nContent-Type: a/b\r\nContent-Disposition: attachment\r\n\r\nx"))
    }

    @Test func `a file whose own disposition has no file name has no type [Q18]`() throws {
        var part = Part("n", .file(path: "/tmp/a.png"), key: "file")
        for (own, type) in [("form-data; name=\"n\"", ""), ("form-data; filename=x", "Content-Type: image/png\r\n")] {
            part.fields = [.init("Content-Disposition", own)]
            let layout = try MultipartLayout(Self.form([part]), fileSizes: [0: 1])
            guard case .bytes(let head)? = layout.pieces.first else {
                Issue.record("no head")
                continue
            }
            #expect(String(decoding: head, as: UTF8.self) == "--b\r\n\(type)Content-Disposition: \(own)\r\n\r\n")
        }
    }

    @Test func `nothing in a part can end a field early`() {
        var type = Self.text("n", "x")
        type.mimeType = "a/b\r\nX: y"
        var value = Self.text("n", "x")
        value.fields = [.init("X", "a\nb")]
        var name = Self.text("n", "x")
        name.fields = [.init("X: y\r\nZ", "a")]
        let null = Self.text("n\u{0}", "x")
        for (part, pointer) in [
            (type, "/parts/0/mimeType"), (value, "/parts/0/headers/X"), (name, "/parts/0/headers/X: y\r\nZ"),
            (null, "/parts/0/name"),
        ] {
            #expect(Self.fault(Self.form([part]))?.0 == .parameterEncoderFailed)
            #expect(Self.fault(Self.form([part]))?.1 == pointer)
        }
    }

    @Test(arguments: ["", " ", "a ", "a\r\n", "a\"", "ä", String(repeating: "a", count: 71), "a;b", "a\u{0}"])
    func `a boundary that is none is refused [Q1]`(boundary: String) {
        let fault = Self.fault(Self.form([Self.text("n", "x")], boundary: boundary))
        #expect(fault?.0 == .parameterEncoderFailed && fault?.1 == "/boundary")
    }

    @Test func `a boundary that occurs in a part is refused [Q1]`() {
        #expect(Self.fault(Self.form([Self.text("n", "x\r\n--b\r\n")]))?.1 == "/boundary")
        #expect(Self.fault(Self.form([Self.text("n", "x\r\n-b-\r\n")])) == nil)
    }

    @Test(arguments: [
        ("custom-test-boundary", "multipart/form-data; boundary=custom-test-boundary"),
        ("a b", "multipart/form-data; boundary=\"a b\""), ("a/b", "multipart/form-data; boundary=\"a/b\""),
    ])
    func `the type names the boundary [Q2] [3.N.1] [3.N.20]`(boundary: String, expected: String) {
        #expect(Self.form([], boundary: boundary).contentType == expected)
    }

    @Test func `a file's name and type follow from its path [Q6]`() throws {
        let form = Self.form([Part("n", .file(path: "/tmp/a b/unicorn.PNG"), key: "file")])
        let layout = try MultipartLayout(form, fileSizes: [0: 9])
        guard case .bytes(let head) = layout.pieces[0], case .file(_, let size, let pointer) = layout.pieces[1] else {
            Issue.record("the pieces are others")
            return
        }
        #expect(
            String(decoding: head, as: UTF8.self).hasSuffix(
                "name=\"n\"; filename=\"unicorn.PNG\"\r\nContent-Type: image/png\r\n\r\n"))
        #expect(size == 9 && pointer == "/parts/0/file")
        #expect(layout.body.size == Int64(head.count) + 9 + 9 && layout.partBytes == 9)
    }

    @Test(arguments: [
        ("https://example.org/a.png", HTTPFailure.Kind.bodyPartURLInvalid), ("a.png", .bodyPartURLInvalid),
        ("", .bodyPartURLInvalid), ("/tmp/\u{0}", .bodyPartURLInvalid), ("/", .bodyPartFilenameInvalid),
        ("/tmp/", .bodyPartFilenameInvalid),
    ])
    func `a path that is none of a file is refused [Q8] [3.N.12] [3.N.13]`(path: String, kind: HTTPFailure.Kind) {
        let parts = [Self.text("a", "x"), Part("n", .file(path: path), key: "file")]
        let fault = Self.fault(Self.form(parts))
        #expect(fault?.0 == kind && fault?.1 == "/parts/1/file")
    }

    @Test func `a stream of unknown length makes a form of unknown length, a known one does not`() throws {
        for (length, size) in [(Int64?.none, Int64?.none), (5, 63)] {
            let feed = SilentFeed()
            let form = Self.form([Part("n", .stream("str_1", feed, length: length), key: "stream")])
            let body = try MultipartLayout(form, fileSizes: [:]).body
            #expect(body.size == size && body.isReplayable)
            #expect(feed.take() && !body.isReplayable)
        }
        let unknown = Self.form([Part("n", .stream("str_1", nil, length: nil), key: "stream")])
        #expect(Self.fault(unknown)?.0 == .bodyPartInputStreamCreationFailed)
    }

    /// Reads a form back as a strict server does, and compares.
    @Test func `whatever the names and bytes are, a form can be read back`() throws {
        let samples = ["name", "a\"b", "日本", "--b", "\r\n--b--\r\n", "filename=\"x\"; y", ""]
        var names = Mutations(of: samples, count: 500, seed: 41, spice: "\";=-b%/:")
        var texts = Mutations(of: samples, count: 500, seed: 42, spice: "\r\n-b")
        var random = SeededRandom(seed: 43)
        var read = 0
        while let name = names.next(), let text = texts.next(), let filename = names.next() {
            var part = Self.text(name, text)
            if Bool.random(using: &random) { part.filename = filename }
            let boundary = MultipartForm.boundary(random: random.next())
            let form = MultipartForm([part, Self.text("last", text)], boundary: boundary, place: "")
            guard let bytes = try? Self.bytes(form) else {
                #expect(name.utf8.contains(0) || filename.utf8.contains(0))
                continue
            }
            read += 1
            let found = Self.parts(of: bytes, boundary)
            #expect(found.map(\.body) == [Array(text.utf8), Array(text.utf8)])
            #expect(found.first?.head.count == (part.filename == nil ? 1 : 2))
            #expect(found.first?.head.first?.hasPrefix("Content-Disposition: form-data; name=\"") == true)
        }
        #expect(read > 100)
    }

    /// The parts between the delimiters: lines of the head, and the body.
    private static func parts(of bytes: [UInt8], _ boundary: String) -> [(head: [String], body: [UInt8])] {
        var found: [(head: [String], body: [UInt8])] = []
        let delimiter = Array("\r\n--\(boundary)".utf8)
        var rest = Array("\r\n".utf8)[...] + bytes
        var chunks: [[UInt8]] = []
        while let place = place(of: delimiter, in: rest) {
            chunks.append(Array(rest[rest.startIndex..<place]))
            rest = rest[(place + delimiter.count)...]
        }
        #expect(Array(rest) == Array("--\r\n".utf8))
        for chunk in chunks.dropFirst() {
            guard let end = place(of: Array("\r\n\r\n".utf8), in: chunk[...]) else { continue }
            let head = String(decoding: chunk[2..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
            found.append((head, Array(chunk[(end + 4)...])))
        }
        return found
    }

    private static func place(of wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= wanted.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - wanted.count).first { start in
            bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted)
        }
    }
}

/// Never says anything.
final class SilentFeed: BodyFeed, @unchecked Sendable {
    // proof: used by one test at a time
    private(set) var isFresh = true

    func take() -> Bool {
        defer { isFresh = false }
        return isFresh
    }

    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void) {}
    func drop() {}
}
