// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Names that servers suggest.
struct FileNameTests {
    @Test(
        "Content-Disposition is read as servers write it",
        arguments: [
            ("attachment; filename=\"a b.txt\"", "attachment", "a b.txt"),
            ("ATTACHMENT;FileName=a.txt", "attachment", "a.txt"),
            ("attachment; filename=a b.txt ; x=y", "attachment", "a b.txt"),
            ("attachment; filename=\"a \\\"b\\\" \\\\ c.txt\"", "attachment", "a \"b\" \\ c.txt"),
            ("attachment; filename=\"f\\oo.html\"", "attachment", "foo.html"),
            ("attachment; filename=\"C:\\\\temp\\\\x\"", "attachment", "C:\\temp\\x"),
            ("\"foo; filename=bar;baz\"; filename=qux", "", "qux"),
            ("attachment; \"x; filename=bar\"; filename=qux", "attachment", "qux"),
            ("attachment; \"x; filename=bar", "attachment", nil),
            ("attachment; filename*=UTF-8''%e2%82%ac.txt; filename=\"euro.txt\"", "attachment", "€.txt"),
            ("attachment; filename=\"euro.txt\"; filename*=utf-8'en'%E2%82%AC.txt", "attachment", "€.txt"),
            ("attachment; filename*=iso-8859-1''%A3.txt", "attachment", "£.txt"),
            ("attachment; filename*=UTF-8''%FF; filename=plain", "attachment", "plain"),
            ("attachment; filename*=big5''x; filename=plain", "attachment", "plain"),
            ("attachment; filename*=broken; filename=plain", "attachment", "plain"),
            ("attachment; filename=one; filename=two", "attachment", "one"),
            ("filename=bare.txt", "", "bare.txt"),
            ("attachment; foo=\"filename=no\"; filename=yes", "attachment", "yes"),
            ("attachment; ; =; x; filename=yes", "attachment", "yes"),
            ("attachment; filename=\"never ends", "attachment", "never ends"),
        ])
    func dispositions(text: String, type: String, name: String?) {
        let field = ContentDisposition(parsing: text)
        #expect(field.type == type)
        #expect(field.filename == name)
    }

    @Test(
        "without a name there is none",
        arguments: ["", "inline", "attachment;", "attachment; filename", ";;;", "\"", "="])
    func nameless(text: String) {
        #expect(ContentDisposition(parsing: text).filename == nil)
    }

    @Test(
        "a suggestion becomes a plain name",
        arguments: [
            ("report.pdf", "report.pdf"), ("../../etc/passwd", "passwd"), ("C:\\Windows\\x.exe", "x.exe"),
            (".bashrc", "bashrc"), ("...", nil), ("..", nil), ("/", nil), ("", nil), (" . . ", nil), ("a/..", nil),
            ("-rf", "_-rf"), ("~user", "_~user"), ("a\u{0}b\n", "ab"), ("a\u{202E}gpj.exe", "agpj.exe"),
            ("a\u{200B}b", "ab"), ("a:b|c?", "a_b_c_"), ("nul", "_nul"), ("COM7.txt", "_COM7.txt"),
            ("lpt", "lpt"), ("a\u{2044}b", "a_b"), ("naïve file", "naïve file"), ("tail. . ", "tail"),
            ("dir/sub/", "sub"),
        ] as [(String, String?)])
    func plain(text: String, name: String?) {
        #expect(FileName.safe(text) == name)
    }

    @Test func `a long name keeps its extension and whole characters`() throws {
        let name = try #require(FileName.safe(String(repeating: "é", count: 300) + ".tar"))
        #expect(name.utf8.count <= FileName.mostBytes)
        #expect(name.hasSuffix("é.tar"))
        #expect(FileName.safe(String(repeating: "x", count: 300))?.utf8.count == FileName.mostBytes)
        let words = String(repeating: "x", count: FileName.mostBytes - 2)
        #expect(FileName.safe("\(words). more, and no extension") == words)
    }

    @Test func `the field comes before the URL, and a name that is none before neither`() throws {
        let url = try HTTPURL(parsing: "http://a/dir/my%20file.txt?x=/y")
        #expect(FileName.suggested([], url: url) == "my file.txt")
        let field: HTTPFields = [.init("Content-Disposition", "attachment; filename=\"..\"")]
        #expect(FileName.suggested(field, url: url) == "my file.txt")
        #expect(FileName.suggested([], url: try HTTPURL(parsing: "http://a/")) == FileName.fallback)
        #expect(FileName.suggested([], url: try HTTPURL(parsing: "http://a/x/%2e%2e%2f")) == FileName.fallback)
        #expect(FileName.suggested([], url: nil) == FileName.fallback)
    }

    @Test func `no bytes make a name that is none`() {
        var random = SeededRandom(seed: 6266)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...40, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            let field = ContentDisposition(parsing: text)
            for candidate in [text, field.filename ?? ""] {
                guard let name = FileName.safe(candidate) else { continue }
                #expect(FileName.fault(name) == nil)
                #expect(!name.hasPrefix(".") && !name.hasPrefix("-") && name.utf8.count <= FileName.mostBytes + 1)
                #expect(!name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") })
            }
        }
    }

    @Test func `the hidden names of a download fit into a file system, and are known again`() {
        for name in ["a", String(repeating: "x", count: 255), String(repeating: "\u{1F600}", count: 63)] {
            let partial = PartialName.partial(of: name)
            let journal = PartialName.journal(beside: partial)
            #expect(partial.utf8.count < 255 && journal.utf8.count + 1 < 255)
            #expect(PartialName.isPartial(partial) && !PartialName.isPartial(journal) && !PartialName.isPartial(name))
            #expect(journal.dropLast(".outrider-journal".count) == partial.dropLast(".outrider-part".count))
        }
        let long = [250, 251].map { PartialName.partial(of: String(repeating: "x", count: $0)) }
        #expect(long[0] != long[1])
        #expect(!PartialName.isPartial(".outrider-part"))
        #expect(!PartialName.isPartial("./.a.outrider-part"))
    }
}
