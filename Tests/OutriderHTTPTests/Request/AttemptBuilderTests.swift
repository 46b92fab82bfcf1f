// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct AttemptBuilderTests {
    private static let defaults = DefaultFields.make(version: "0.1.0", languages: ["de-DE", "en"])

    private static func build(
        _ url: String = "http://h/", fileSize: Int64? = nil, _ change: (inout RequestSpec) -> Void = { _ in }
    ) throws(HTTPFailure) -> Attempt {
        var spec = RequestSpec(url: url)
        change(&spec)
        return try AttemptBuilder.build(spec, defaults: defaults, fileSize: fileSize)
    }

    @Test func `a plain request gets the defaults`() throws {
        let attempt = try Self.build()
        #expect(attempt.method == "GET")
        #expect(
            attempt.fields.list == [
                .init("User-Agent", "outrider/0.1.0 (Linux)"), .init("Accept", "*/*"),
                .init("Accept-Encoding", "gzip, deflate, br, zstd"), .init("Accept-Language", "de-DE;q=1.0, en;q=0.9"),
            ])
        #expect(attempt.body == .none)
    }

    @Test func `the caller's fields stand first, in order, and replace defaults [D8]`() throws {
        let attempt = try Self.build { spec in
            spec.fields = [.init("X-B", "1"), .init("accept", "a/b"), .init("X-A", "2"), .init("x-b", "3")]
        }
        #expect(
            attempt.fields.list.map(\.name) == [
                "X-B", "accept", "X-A", "x-b", "User-Agent", "Accept-Encoding", "Accept-Language",
            ])
        #expect(attempt.fields.first("Accept") == "a/b")
    }

    @Test func `no coding is offered for a part of a body`() throws {
        let attempt = try Self.build { $0.fields = [.init("range", "bytes=0-9")] }
        #expect(attempt.fields.list.map(\.name) == ["range", "User-Agent", "Accept", "Accept-Language"])
    }

    @Test func `a request without default fields has those of the caller and no other`() throws {
        let attempt = try Self.build { spec in
            spec.method = "POST"
            spec.addsDefaultFields = false
            spec.fields = [.init("X-A", "1")]
            spec.body = BodySpec(.bytes([0x61]))
        }
        #expect(attempt.fields.list == [.init("X-A", "1")])
        #expect(!attempt.decodesContent)
    }

    @Test func `a Content-Type that the caller names, or that holds a boundary, is no default field`() throws {
        let named = try Self.build { spec in
            spec.method = "POST"
            spec.addsDefaultFields = false
            spec.body = BodySpec(.text("x", charset: "utf-8"), contentType: "a/b")
        }
        #expect(named.fields.list == [.init("Content-Type", "a/b")])
        let form = try Self.build { spec in
            spec.method = "POST"
            spec.addsDefaultFields = false
            spec.body = BodySpec(.multipart(MultipartForm([], boundary: "b", place: "/body/multipart")))
        }
        #expect(form.fields.list.map(\.name) == ["Content-Type"])
    }

    @Test(
        arguments: [
            (true, true, nil, true), (false, true, nil, false), (true, false, nil, false), (true, false, "gzip", true),
            (false, true, "gzip", false),
        ] as [(Bool, Bool, String?, Bool)])
    func `a coding is undone that the request offers, unless the caller does that`(
        decode: Bool, defaults: Bool, offered: String?, undone: Bool
    ) throws {
        let attempt = try Self.build { spec in
            spec.decodesContent = decode
            spec.addsDefaultFields = defaults
            if let offered { spec.fields = [.init("Accept-Encoding", offered)] }
        }
        #expect(attempt.decodesContent == undone)
    }

    @Test func `the query follows the one in the URL`() throws {
        let attempt = try Self.build("http://h/p?baz=qux#top") { $0.query = ["foo": .string("a b")] }
        #expect(attempt.url.target == "/p?baz=qux&foo=a%20b")
    }

    private static let bodies: [(BodySpec, String, String)] = [
        (BodySpec(.text("h\u{e9}", charset: "utf-8")), "text/plain; charset=utf-8", "h\u{c3}\u{a9}"),
        (BodySpec(.text("h\u{e9}", charset: "ISO-8859-1")), "text/plain; charset=iso-8859-1", "h\u{e9}"),
        (BodySpec(.text("he", charset: "us-ascii")), "text/plain; charset=us-ascii", "he"),
        (BodySpec(.bytes([0x61, 0])), "application/octet-stream", "a\u{0}"),
        (BodySpec(.json(JSONText(written: Array("{\"a\":1}".utf8)))), "application/json", "{\"a\":1}"),
        (BodySpec(.form(["a": .string("b c")])), "application/x-www-form-urlencoded; charset=utf-8", "a=b+c"),
        (BodySpec(.text("x", charset: "utf-8"), contentType: "a/b"), "a/b", "x"),
        (BodySpec(.text("", charset: "utf-8")), "text/plain; charset=utf-8", ""),
    ]

    @Test(arguments: bodies)
    func `a body becomes bytes and names its type`(body: BodySpec, type: String, latin1: String) throws {
        let attempt = try Self.build { spec in
            spec.method = "POST"
            spec.body = body
        }
        #expect(attempt.fields.first("Content-Type") == type)
        #expect(attempt.body == .bytes(latin1.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }))
    }

    @Test func `the caller's own content type wins`() throws {
        let attempt = try Self.build { spec in
            spec.method = "POST"
            spec.fields = [.init("content-type", "type")]
            spec.body = BodySpec(.form(["a": .integer(1)]), contentType: "other/type")
        }
        #expect(attempt.fields.all("Content-Type") == ["type"])
    }

    @Test func `a file is sent by name and size`() throws {
        let attempt = try Self.build(fileSize: 7) { spec in
            spec.method = "PUT"
            spec.body = BodySpec(.file(path: "/tmp/x"))
        }
        #expect(attempt.body == .file(path: "/tmp/x", size: 7))
        #expect(attempt.fields.first("Content-Type") == "application/octet-stream")
    }

    @Test func `a body in GET or HEAD needs permission`() throws {
        for method in ["GET", "HEAD"] {
            let change = { (spec: inout RequestSpec) in
                spec.method = method
                spec.body = BodySpec(.text("x", charset: "utf-8"))
            }
            let failure = #expect(throws: HTTPFailure.self) { try Self.build("http://h/", change) }
            #expect(failure?.kind == .bodyDataInGETRequest)
            #expect(failure?.pointer == "/body")
            let attempt = try Self.build { spec in
                change(&spec)
                spec.allowGetBody = true
            }
            #expect(attempt.body == .bytes([0x78]))
        }
        #expect(try Self.build { $0.method = "DELETE" }.body == .none)
    }

    private struct Fault: Sendable {
        var kind: HTTPFailure.Kind
        var pointer: String
        var change: @Sendable (inout RequestSpec) -> Void

        init(_ kind: HTTPFailure.Kind, _ pointer: String, _ change: @escaping @Sendable (inout RequestSpec) -> Void) {
            (self.kind, self.pointer, self.change) = (kind, pointer, change)
        }
    }

    private static let faults = [
        Fault(.invalidURL, "/url") { $0.url = "" },
        Fault(.invalidURL, "/url") { $0.url = "http://h:99999/" },
        Fault(.unsupportedScheme, "/url") { $0.url = "ftp://h/" },
        Fault(.createURLRequestFailed, "/method") { $0.method = "GET / HTTP/1.1\r\nX: y\r\n\r\n" },
        Fault(.createURLRequestFailed, "/method") { $0.method = "" },
        Fault(.createURLRequestFailed, "/headers/Host") { $0.fields = [.init("Host", "x")] },
        Fault(.createURLRequestFailed, "/headers/X~1Y") { $0.fields = [.init("X/Y", "x")] },
        Fault(.createURLRequestFailed, "/headers/X") { $0.fields = [.init("X", "a\r\nb")] },
        Fault(.createURLRequestFailed, "/headers") { spec in
            spec.fields = HTTPFields((0..<20).map { .init("X-\($0)", String(repeating: "a", count: 60_000)) })
        },
        Fault(.createURLRequestFailed, "/serialize/encoding") {
            $0.serialize = SerializeSpec(.text, encoding: "utf-99")
        },
        Fault(.createURLRequestFailed, "/body/contentType") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.bytes([]), contentType: "a/b\r\nX: y")
        },
        Fault(.createURLRequestFailed, "/body") { spec in
            spec.method = "TRACE"
            spec.body = BodySpec(.bytes([1]))
        },
        Fault(.parameterEncoderFailed, "/body/charset") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.text("x", charset: "utf-99"))
        },
        Fault(.parameterEncoderFailed, "/body/charset") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.text("x", charset: "x\r\ny"))
        },
        Fault(.parameterEncoderFailed, "/body/text") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.text("\u{20ac}", charset: "iso-8859-1"))
        },
        Fault(.parameterEncoderFailed, "/body/text") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.text("\u{e9}", charset: "us-ascii"))
        },
        Fault(.createUploadableFailed, "/body/file") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.file(path: "relative"))
        },
        Fault(.createUploadableFailed, "/body/file") { spec in
            spec.method = "POST"
            spec.body = BodySpec(.file(path: "/a\u{0}b"))
        },
    ]

    @Test func `what is wrong is named by its place`() {
        for (index, fault) in Self.faults.enumerated() {
            let failure = #expect(throws: HTTPFailure.self, "fault \(index)") {
                try Self.build("http://h/", fault.change)
            }
            #expect(failure?.kind == fault.kind, "fault \(index)")
            #expect(failure?.pointer == fault.pointer, "fault \(index): \(failure?.message ?? "")")
            #expect(failure?.sent == .notSent)
        }
    }

    @Test func `timeouts and trust go along`() throws {
        let attempt = try Self.build { spec in
            spec.timeouts.total = 3
            spec.security = SecurityPlan(roots: RootsSpec(file: "/ca.pem"))
        }
        #expect(attempt.timeouts.total == 3)
        #expect(attempt.security.table.settings.roots?.file == "/ca.pem")
    }
}
