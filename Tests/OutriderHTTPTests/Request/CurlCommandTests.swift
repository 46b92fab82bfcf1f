// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct CurlCommandTests {
    private static func attempt(
        _ method: String = "GET", _ url: String = "http://h/", _ fields: HTTPFields = [], _ body: AttemptBody = .none
    ) throws -> Attempt {
        Attempt(method: method, url: try HTTPURL(parsing: url), fields: fields, body: body)
    }

    @Test func `a plain request is a plain command`() throws {
        #expect(try CurlCommand.text(Self.attempt()) == "curl 'http://h/'")
    }

    @Test func `method, fields and body are shown`() throws {
        let attempt = try Self.attempt(
            "POST", "http://h/a?b=c&d", [.init("X-A", "it's $HOME `x` \"y\" \\"), .init("X-B", "")],
            .bytes(Array("a'b\n".utf8)))
        #expect(
            CurlCommand.text(attempt)
                == #"curl -X POST -H 'X-A: it'\''s $HOME `x` "y" \' -H 'X-B;' --data-raw 'a'\''b"# + "\n"
                + "' 'http://h/a?b=c&d'")
    }

    @Test(arguments: [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-auth-token",
    ])
    func `secrets are masked`(name: String) throws {
        let attempt = try Self.attempt("GET", "http://h/", [.init(name, "Bearer s3cr3t")])
        #expect(CurlCommand.text(attempt) == "curl -H '\(name): ***' 'http://h/'")
        #expect(CurlCommand.text(attempt, masked: false).contains("s3cr3t"))
    }

    @Test func `HEAD is asked for as curl wants it`() throws {
        #expect(try CurlCommand.text(Self.attempt("HEAD")) == "curl --head 'http://h/'")
        #expect(
            try CurlCommand.text(Self.attempt("GET", "http://h/", [], .bytes([0x61])))
                == "curl -X GET --data-raw a 'http://h/'")
    }

    @Test func `bytes that are no text come from printf`() throws {
        let command = try CurlCommand.text(Self.attempt("PUT", "http://h/", [], .bytes([0, 0x27, 0xFF, 0x25])))
        #expect(command == #"printf '\000\047\377\045' | curl -X PUT --data-binary @- 'http://h/'"#)
        let long = try CurlCommand.text(
            Self.attempt("PUT", "http://h/", [], .bytes([UInt8](repeating: 0x61, count: 20_000))))
        #expect(long == "cat BODY | curl -X PUT --data-binary @- 'http://h/'")
        let file = try CurlCommand.text(Self.attempt("PUT", "http://h/", [], .file(path: "/a b", size: 1)))
        #expect(file == "curl -X PUT --data-binary '@/a b' 'http://h/'")
    }

    @Test func `sockets, brackets, compression and roots have their options`() throws {
        #expect(
            try CurlCommand.text(Self.attempt("GET", "https+unix://%2Fa%20b.sock/x"))
                == "curl --unix-socket '/a b.sock' 'https://localhost/x'")
        #expect(try CurlCommand.text(Self.attempt("GET", "http://[::1]:81/")) == "curl -g 'http://[::1]:81/'")
        var attempt = try Self.attempt("GET", "http://h/", [.init("Accept-Encoding", "gzip")])
        attempt.trust = .roots(file: "/ca.pem")
        #expect(
            CurlCommand.text(attempt) == "curl -H 'Accept-Encoding: gzip' --compressed --cacert '/ca.pem' 'http://h/'")
    }

    @Test(arguments: [
        ("abc", "abc"), ("", "''"), ("a b", "'a b'"), ("'", #"''\'''"#), ("-x", "-x"), ("~", "'~'"),
        ("$(rm)", "'$(rm)'"),
        ("a\nb", "'a\nb'"), ("!", "'!'"), ("\u{e9}", "'\u{e9}'"),
    ])
    func `a word is quoted for the shell`(text: String, quoted: String) {
        #expect(CurlCommand.quoted(text) == quoted)
    }
}
