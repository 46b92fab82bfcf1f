// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// Whatever comes in, nothing traps, and what is accepted keeps its promises.
@Suite struct MutationTests {
    @Test func `a URL that is accepted is clean, whatever was done to it`() {
        let samples = [
            "https://example.org:8443/a/../b?c=d#e", "http://[2001:db8::1.2.3.4]:80/x", "http://0x7f.1/%2e%2e/",
            "http://b\u{fc}cher.example/\u{e9}", "http+unix://%2Frun%2Fx.sock/a", "ws://1.2.3.4", "http://a.b.c.d.e.f/",
        ]
        let spice = "/\\:@?#[]%.0123456789xXabcdefgABC-_~ +\u{e9}\u{308}"
        var accepted = 0
        for text in Mutations(of: samples, count: 40_000, seed: 1, spice: spice) {
            guard let url = try? HTTPURL(parsing: text) else { continue }
            accepted += 1
            let clean = { (byte: UInt8) in byte > 0x20 && byte < 0x7F }
            let sound =
                url.target.utf8.allSatisfy(clean) && url.host.utf8.allSatisfy(clean) && url.target.utf8.first == 0x2F
                && !url.host.isEmpty && (1...65535).contains(url.port) && !url.target.contains("#")
                && !url.host.contains("@") && !url.host.contains("/")
            #expect(sound, "\(text.debugDescription)")
            #expect(
                (try? HTTPURL(parsing: url.description))?.description == url.description, "\(text.debugDescription)")
        }
        #expect(accepted > 1000)
    }

    @Test func `resolving never traps and never leaves http`() throws {
        let base = try HTTPURL(parsing: "http://h/a/b;c?d")
        let samples = ["../x?y#z", "//g/x", "?q", "#f", "http://[::1]/", "", "./././..", "/\u{e9} b"]
        for text in Mutations(of: samples, count: 10_000, seed: 2, spice: "/:?#.%@[]") {
            guard let url = try? base.resolve(reference: text) else { continue }
            #expect(url.target.utf8.first == 0x2F)
        }
    }

    @Test func `a media type that is read can be written and read again`() {
        let samples = [
            "text/html; charset=\"utf-8\"; q=0.5", "application/json", "a/b;c=d;e=\"f\\\"g\"", "*/*", "x/y ; z",
        ]
        for text in Mutations(of: samples, count: 20_000, seed: 3, spice: "/;=\"\\ ,azAZ09*+.\t\u{e9}") {
            guard let type = MediaType(parsing: text) else { continue }
            #expect(FieldRules.isToken(type.type) && FieldRules.isToken(type.subtype))
            #expect(MediaType(parsing: type.description)?.essence == type.essence)
        }
    }

    @Test func `a date that is read can be written and read again`() {
        let samples = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Mon, 29 Feb 2000 23:59:60 GMT",
        ]
        for text in Mutations(of: samples, count: 20_000, seed: 4, spice: "0123456789:,- GMTSunday") {
            guard let seconds = HTTPDate.parse(text, now: 784_111_777) else { continue }
            #expect(HTTPDate.format(seconds).flatMap { HTTPDate.parse($0, now: 0) } == seconds)
        }
    }

    @Test func `a field that is accepted cannot end its line`() {
        for text in Mutations(of: ["value", "a, b;c=\"d\"", "\u{e9}"], count: 20_000, seed: 5, spice: ":\t\"'()") {
            guard FieldRules.fault(inField: "X-Name", text) == nil else { continue }
            #expect(!text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 })
        }
        for text in Mutations(of: ["X-Name", "GET", "content-type"], count: 20_000, seed: 6, spice: ":\t\"'(){}@") {
            #expect((FieldRules.fault(inMethod: text) == nil) == (FieldRules.isToken(text) && text.utf8.count <= 64))
            if FieldRules.fault(inField: text, "") == nil { #expect(FieldRules.isToken(text)) }
        }
    }

    @Test func `heads of responses are framed or refused`() {
        let samples = ["5", "5, 5", "chunked", "gzip, chunked", "0", "18446744073709551616", "9223372036854775807"]
        for text in Mutations(of: samples, count: 20_000, seed: 7, spice: "0123456789,;+-x chunked\t") {
            for name in ["Content-Length", "Transfer-Encoding"] {
                let head = ResponseHead(status: 200, fields: [.init(name, text)])
                guard case (.length(let length), _)? = try? BodyFraming.of(head, to: "GET") else { continue }
                #expect(length >= 0)
            }
        }
    }

    @Test func `bodies of any bytes are given in some shape`() {
        let samples = ["{\"a\":[1,2.5e3,\"\\u00e9\"]}", "\u{feff}text", "plain", "[]"]
        for text in Mutations(of: samples, count: 5000, seed: 8, spice: "{}[]\",:\\u0") {
            for shape in SerializeSpec.Shape.allCases {
                for type in ["application/json", "text/plain; charset=utf-16", "text/html; charset=windows-1252", nil] {
                    let body = Serialization.serialize(Array(text.utf8), as: SerializeSpec(shape), contentType: type)
                    if case .text(let text, _) = body.shape { #expect(!text.utf8.contains(0)) }
                }
            }
        }
    }
}
