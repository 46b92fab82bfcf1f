// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Responses, whatever the pieces in which their bytes arrive.
struct ResponseReaderTests {
    /// What a reader found in the bytes, in pieces of so many.
    private struct Found: Equatable {
        var heads: [ResponseHead] = []
        var body = ""
        var trailers: HTTPFields?
        var fault: ResponseFault?
        /// Bytes behind the end of the response.
        var rest = 0

        init(_ bytes: [UInt8], step: Int) {
            var reader = ResponseReader()
            var start = 0
            do throws(ResponseFault) {
                while start < bytes.count, trailers == nil {
                    let piece = Array(bytes[start..<min(bytes.count, start + step)])
                    let used = try read(piece, &reader)
                    start += piece.count
                    if trailers != nil { rest = bytes.count - start + piece.count - used }
                }
            } catch {
                fault = error
            }
        }

        private mutating func read(_ piece: [UInt8], _ reader: inout ResponseReader) throws(ResponseFault) -> Int {
            var position = 0
            while trailers == nil {
                let part = try Self.next(&reader, piece, &position)
                switch part {
                case nil: return position
                case .head(let head):
                    heads.append(head)
                    if head.status >= 200 {
                        let framing = try? BodyFraming.of(head, to: "GET").0
                        reader.begin(framing ?? .none)
                    }
                case .body(let range): body += String(decoding: piece[range], as: UTF8.self)
                case .end(let trailers): self.trailers = trailers
                }
            }
            return position
        }

        private static func next(
            _ reader: inout ResponseReader, _ piece: [UInt8], _ position: inout Int
        ) throws(ResponseFault) -> ResponseReader.Part? {
            let result = piece.withUnsafeBytes { bytes in
                Result { () throws(ResponseFault) in try reader.next(bytes, from: &position) }
            }
            return try result.get()
        }
    }

    private func found(_ text: String) -> Found { found(Array(text.utf8)) }

    private func found(_ bytes: [UInt8]) -> Found {
        let whole = Found(bytes, step: max(1, bytes.count))
        for step in 1..<max(2, min(bytes.count, 60)) { #expect(Found(bytes, step: step) == whole, "\(step)") }
        return whole
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func `heads, bodies and what follows`() {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
        let response = found(interim + "HTTP/1.1 404 Not Found\r\nA:b \r\nContent-Length: 5\r\n\r\nhelloHTTP")
        #expect(response.heads.map(\.status) == [103, 404] && response.heads[1].fields.first("A") == "b")
        #expect(response.body == "hello" && response.trailers == [] && response.rest == 4 && response.fault == nil)
        let chunks = found(Self.chunked + "5\r\nhello\r\n006;a=\"b;c\"\r\n world\r\n0\r\nB: c\r\nD:e\r\n\r\nx")
        #expect(
            chunks.body == "hello world" && chunks.trailers == [.init("B", "c"), .init("D", "e")] && chunks.rest == 1)
        #expect(found("HTTP/1.1 200 OK\r\n\r\nhello").body == "hello")
        #expect(found("HTTP/1.1 204 No Content\r\n\r\n").trailers == [])
    }

    @Test(arguments: [
        ("HTTP/1.1 200\r\n\r\n", ""), ("HTTP/1.1 200 \r\n\r\n", ""),
        ("\r\n\r\nHTTP/1.0 200 Fine and well\n\n", "Fine and well"),
        ("HTTP/1.1 200 caf\u{E9}\r\n\r\n", "caf\u{E9}"),
    ])
    func `status lines as servers write them`(_ text: String, _ reason: String) {
        let response = found(text)
        #expect(response.heads.first?.status == 200 && response.heads.first?.reason == reason)
    }

    @Test func `some empty lines before a head are passed over, but not any number`() {
        let most = ResponseReader.mostEmptyLines
        let head = "HTTP/1.1 204 No Content\r\n\r\n"
        #expect(found(String(repeating: "\r\n", count: most) + head).trailers == [])
        let response = found(String(repeating: "\r\n", count: most + 1) + head)
        #expect(response.fault == .malformed("more than 16 empty lines stand before it") && response.heads.isEmpty)
    }

    @Test func `a folded value becomes one line`() {
        let lines = "A: b\r\n c\r\n\t d \r\nE:\r\n f\r\nG: h\r\n  \r\nI: j\r\n"
        let response = found("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 0\r\n\r\n")
        #expect(
            response.heads.first?.fields == [
                .init("A", "b c d"), .init("E", "f"), .init("G", "h"), .init("I", "j"), .init("Content-Length", "0"),
            ])
        let trailers = found(Self.chunked + "0\r\nA: b\r\n c\r\n\r\n").trailers
        #expect(trailers == [.init("A", "b c")])
    }

    @Test func `values that are not UTF-8 are ISO 8859-1, in trailers too`() {
        let head = Array("HTTP/1.1 200 OK\r\nA: caf".utf8) + [0xE9] + Array("\r\nlocation: /".utf8) + [0xE9]
        let rest = Array("\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nB: ".utf8) + [0xFF, 0xC3, 0xA9]
        let response = found(head + rest + Array("\r\nC: \u{E9}\r\n\r\n".utf8))
        let fields = response.heads.first?.fields
        #expect(fields?.first("A") == "caf\u{E9}" && fields?.first("Location") == "/%E9")
        #expect(fields?.texts("A") == [FieldText("caf\u{E9}", isLatin1: true)])
        let folded = found(Array("HTTP/1.1 204 OK\r\nA: \u{E9}\r\n ".utf8) + [0xE9] + Array("\r\n\r\n".utf8))
        #expect(folded.heads.first?.fields.texts("A").map(\.bytes) == [[0xC3, 0xA9, 0x20, 0xE9]])
        #expect(
            response.trailers == [.init("B", FieldText("\u{FF}\u{C3}\u{A9}", isLatin1: true)), .init("C", "\u{E9}")])
    }

    @Test func `white space around the size of a chunk is skipped`() {
        for line in ["5 ", "5\t \t", "5 ;a", "5; a = b ; c", "5 ; a=\"b c\""] {
            #expect(found(Self.chunked + line + "\r\nhello\r\n0 \r\n\r\n").body == "hello", "\(line)")
        }
    }

    @Test(arguments: [
        "", " 5", "5 5", "5x", "x", "-5", "+5", "0x5", "5\n", "5;\u{0}", "5;a\n", "5\r", "8000000000000000",
        "10000000000000000", "5_0",
    ])
    func `a chunk without a proper size ends the response`(_ line: String) {
        let response = found(Self.chunked + line + "\r\nhello\r\n0\r\n\r\n")
        guard case .malformed = response.fault else {
            Issue.record("\(response)")
            return
        }
        #expect(response.body == "" && response.trailers == nil)
    }

    @Test(arguments: ["5\r\nhelloX\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\rX", "5\r\nhello0\r\n\r\n"])
    func `a chunk that is longer than its size ends the response`(_ chunks: String) {
        let response = found(Self.chunked + chunks)
        #expect(response.fault == .malformed("a chunk is longer than its size says") && response.body == "hello")
    }

    @Test(arguments: [
        "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1 200 OK\r\n",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 200 O\u{0}K\r\n", "HTTP/1.1 200 OK\r\n a: b\r\n", "HTTP/1.1 200 OK\r\na b\r\n",
        "HTTP/1.1 200 OK\r\na : b\r\n", "HTTP/1.1 200 OK\r\n: b\r\n", "HTTP/1.1 200 OK\r\na: b\rc\r\n",
        "HTTP/1.1 200 OK\r\na: \u{0}\r\n", "HTTP/1.1 200 OK\r\n\u{E9}: b\r\n", "HTTP/1.1 099 Low\r\n",
        "\u{16}\u{3}\u{1}\r\n",
    ])
    func `a head that is none ends the response`(_ lines: String) {
        let response = found(lines + "Content-Length: 0\r\n\r\n")
        guard case .malformed = response.fault else {
            Issue.record("\(response)")
            return
        }
    }

    @Test func `long heads, lines, trailers and extensions are refused`() {
        let long = String(repeating: "a", count: 70_000)
        let many = String(repeating: "a: b\r\n", count: 1001)
        let fields = ["a: \(long)\r\n", String(long.prefix(40_000)) + ": " + long.prefix(40_000) + "\r\n", many]
        for text in fields.map({ "HTTP/1.1 200 OK\r\n\($0)\r\n" }) + fields.map({ Self.chunked + "0\r\n\($0)\r\n" }) {
            for step in [100, 100_000] { #expect(Found(Array(text.utf8), step: step).fault == .tooLong) }
        }
        for step in [100, 100_000] {
            #expect(Found(Array("HTTP/1.1 200 \(long)".utf8), step: step).fault == .tooLong)
            for line in ["5;" + long, String(repeating: "0", count: 70_000)] {
                #expect(Found(Array((Self.chunked + line).utf8), step: step).fault == .chunkLineTooLong)
            }
        }
        let fits = "a: \(String(repeating: "b", count: (64 << 10) - 1))\r\n"
        #expect(Found(Array("HTTP/1.1 200 OK\r\n\(fits)\r\n".utf8), step: 1000).fault == nil)
    }
}
