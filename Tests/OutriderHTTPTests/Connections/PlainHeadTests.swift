// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Heads that are read in one pass, and those that are left to the reader of lines.
struct PlainHeadTests {
    private func plain(_ text: String) -> PlainHead? { Array(text.utf8).withUnsafeBytes { PlainHead($0) } }

    @Test func `a plain head is read with its fields in order, up to its empty line`() {
        let head = "HTTP/1.1 404 Not Found\r\nServer: a b\r\nX:1\r\nx: 2\r\ncontent-length: 5\r\n\r\n"
        let found = plain(head + "hello")
        #expect(found?.bytes == head.utf8.count)
        #expect(found?.head.status == 404 && found?.head.reason == "Not Found" && found?.head.version == .http11)
        let names = found?.head.fields.list.map(\.name)
        #expect(names == ["Server", "X", "x", "content-length"])
        #expect(found?.head.fields.all("X") == ["1", "2"] && found?.head.fields.first("Server") == "a b")
    }

    @Test func `a head that has not come whole is not plain, wherever it was cut`() {
        let head = Array("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n".utf8)
        for count in 0...head.count {
            let found = Array(head.prefix(count)).withUnsafeBytes { PlainHead($0) }
            #expect((found != nil) == (count == head.count), "\(count)")
        }
    }

    private static let status = "HTTP/1.1 200 OK\r\n"
    private static let length = "Content-Length: 5\r\n"

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\n", "HTTP/1.1 100 Continue\r\n", "HTTP/1.1 101 Switching\r\n", "HTTP/1.1 600 Odd\r\n",
        "HTTP/1.1 20 OK\r\n", "HTTP/1.1 200\r\n", "HTTP/1.1  200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.1 200 OK\n",
        "HTTP/1.1 200 D\u{E9}\r\n", "",
    ])
    func `another status line is left to the reader of lines`(_ line: String) {
        #expect(plain(line + Self.length + "\r\n") == nil)
        #expect(plain(Self.status + Self.length + "\r\n") != nil)
    }

    @Test(arguments: [
        "A : b\r\n", ": b\r\n", " A: b\r\n", "A: b\r\n c\r\n", "A:  b\r\n", "A: b \r\n", "A:\tb\r\n", "A:\r\n",
        "A: b\n",
        "A: b\rc\r\n", "A: \u{0}\r\n", "A: \u{7F}\r\n", "A: \u{E9}\r\n", "A b\r\n", "\n",
    ])
    func `a field of another form is left to the reader of lines`(_ line: String) {
        #expect(plain(Self.status + line + Self.length + "\r\n") == nil)
        #expect(plain(Self.status + Self.length + line + "\r\n") == nil)
    }

    @Test func `names are kept as they were written`() {
        let names = [
            "Date", "date", "DATE", "Data", "ETag", "Etag", "Vary", "Server", "server", "Sarver", "Connection",
            "Set-Cookie",
            "Content-Type", "content-type", "CONTENT-TYPE", "Cache-Control", "Accept-Ranges", "Last-Modified",
            "Content-Encoding", "content-encoding", "Content-Encodinq", "X",
        ]
        let fields = names.map { "\($0): b\r\n" }.joined()
        let found = plain(Self.status + fields + Self.length + "\r\n")
        #expect(found?.head.fields.list.map(\.name) == names + ["Content-Length"])
    }

    @Test func `many fields and long ones are left to the reader of lines`() {
        for line in [String(repeating: "A: b\r\n", count: 100), "A: \(String(repeating: "b", count: 16 << 10))\r\n"] {
            #expect(plain(Self.status + line + Self.length + "\r\n") == nil)
            #expect(plain(Self.status + Self.length + line + "\r\n") == nil)
        }
    }
}
