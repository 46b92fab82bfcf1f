// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What the commands do when they are run is shown by `Tests/EndToEnd/cli/test_curl.py`.
@Suite struct CurlCommandTests {
    private static let usual: HTTPFields = [
        .init("User-Agent", "u"), .init("Accept", "a"), .init("Content-Type", "t/s"),
    ]

    private static func attempt(
        _ method: String = "GET", _ url: String = "http://h/", _ fields: HTTPFields = [], _ body: AttemptBody = .none
    ) throws -> Attempt {
        var attempt = Attempt(method: method, url: try HTTPURL(parsing: url), fields: fields, body: body)
        attempt.decodesContent = false
        return attempt
    }

    /// Without what is the same in all.
    private static func short(_ attempt: Attempt) -> String {
        var attempt = attempt
        for field in usual.list where !attempt.fields.contains(field.name) { attempt.fields.list.append(field) }
        var text = CurlCommand(attempt).text
        for words in [" -H 'User-Agent: u'", " -H 'Accept: a'", " -H 'Content-Type: t/s'"] {
            if let range = text.range(of: words) { text.removeSubrange(range) }
        }
        return text
    }

    @Test func `a plain request is a plain command`() throws {
        #expect(try Self.short(Self.attempt()) == "curl 'http://h/'")
        #expect(try CurlCommand(Self.attempt()).text == "curl -H User-Agent: -H Accept: 'http://h/'")
    }

    @Test func `method, fields and body are shown`() throws {
        let attempt = try Self.attempt(
            "POST", "http://h/a?b=c&d", [.init("X-A", "it's $HOME `x` \"y\" \\"), .init("X-B", "")],
            .bytes(Array("a'b\n".utf8)))
        #expect(
            Self.short(attempt)
                == #"curl -X POST -H 'X-A: it'\''s $HOME `x` "y" \' -H 'X-B;' --data-raw 'a'\''b"# + "\n"
                + "' 'http://h/a?b=c&d'")
    }

    @Test(arguments: [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-auth-token",
    ])
    func `secrets are masked unless asked for [AA2] [AA3] [AA10]`(name: String) throws {
        let attempt = try Self.attempt("GET", "http://h/?token=s3cr3t&a=b", [.init(name, "Bearer s3cr3t")])
        #expect(Self.short(attempt) == "curl -H '\(name): ***' 'http://h/?token=***&a=b'")
        let whole = CurlCommand(attempt, .none).text
        #expect(whole.contains("Bearer s3cr3t") && whole.contains("token=s3cr3t"))
    }

    @Test func `a body that waits for 100 Continue waits in curl, too`() throws {
        var attempt = try Self.attempt("POST", "http://h/", [], .bytes(Array("a".utf8)))
        attempt.expectsContinue = true
        let expected = "curl -X POST -H 'Expect: 100-continue' --data-raw a 'http://h/'"
        #expect(Self.short(attempt) == expected)
        attempt.body = .none
        #expect(!Self.short(attempt).contains("Expect: 100"))
        attempt.body = .file(path: "/a", size: 2_000_000)
        #expect(Self.short(attempt).contains("-H 'Expect: 100-continue'") && !Self.short(attempt).contains("'Expect:'"))
    }

    private final class Owner: UpgradeOwner {
        func upgraded(_ link: any UpgradeLink) {}
    }

    @Test func `a handshake is complete`() throws {
        let fields: HTTPFields = [.init("Sec-WebSocket-Key", "AAAA"), .init("X-Key", "s3cr3t")]
        var attempt = try Self.attempt("GET", "http://h/", fields)
        attempt.upgrade = .webSocket(Owner())
        #expect(
            Self.short(attempt)
                == "curl -H 'Sec-WebSocket-Key: AAAA' -H 'X-Key: ***' -H 'Connection: Upgrade'"
                + " -H 'Upgrade: websocket' -i -N 'http://h/'")
    }

    @Test func `HEAD is asked for as curl wants it`() throws {
        #expect(try Self.short(Self.attempt("HEAD")) == "curl --head 'http://h/'")
        #expect(
            try Self.short(Self.attempt("GET", "http://h/", [], .bytes([0x61])))
                == "curl -X GET --data-raw a 'http://h/'")
    }

    @Test func `a method that expects a body says that there is none`() throws {
        #expect(try Self.short(Self.attempt("PUT")) == "curl -X PUT --data-raw '' 'http://h/'")
        #expect(try Self.short(Self.attempt("DELETE")) == "curl -X DELETE 'http://h/'")
    }

    @Test func `bytes that are no text come from printf`() throws {
        let command = try Self.short(Self.attempt("PUT", "http://h/", [], .bytes([0, 0x37, 0x27, 0xFF, 0x25, 0x0D])))
        #expect(command == #"printf '\0007'\''\377%%\r' | curl -X PUT --data-binary @- 'http://h/'"#)
        let file = try Self.short(Self.attempt("PUT", "http://h/", [], .file(path: "/a b", size: 1)))
        #expect(file == "curl -X PUT --data-binary '@/a b' 'http://h/'")
    }

    @Test func `a body that no command can hold is left to its user`() throws {
        let long = CurlCommand(
            try Self.attempt("PUT", "http://h/", Self.usual, .bytes([UInt8](repeating: 0, count: 2 << 20))))
        #expect(long.text.hasSuffix("-H Expect: --data-binary @- 'http://h/'"))
        #expect(long.note == "the body of 2097152 bytes is too long for a command: give it on standard input")
        let gone = CurlCommand(try Self.attempt("PUT", "http://h/", Self.usual, .file(path: "-", size: 70_000)))
        #expect(gone.text.hasSuffix("--data-binary @- 'http://h/'"))
        #expect(gone.note == "the body of 70000 bytes is not kept: give it on standard input")
    }

    @Test func `sockets, brackets, dots, TLS, compression and roots have their options`() throws {
        #expect(
            try Self.short(Self.attempt("GET", "https+unix://%2Fa%20b.sock/x"))
                == "curl --http1.1 --unix-socket '/a b.sock' 'https://localhost/x'")
        #expect(try Self.short(Self.attempt("GET", "http://[::1]:81/")) == "curl --globoff 'http://[::1]:81/'")
        #expect(try Self.short(Self.attempt("GET", "http://h/.a")) == "curl --path-as-is 'http://h/.a'")
        #expect(try Self.short(Self.attempt("GET", "http://h./")) == "curl -H 'Host: h.' 'http://h./'")
        var attempt = try Self.attempt("GET", "http://h/", [.init("Accept-Encoding", "gzip")])
        attempt.decodesContent = true
        #expect(Self.short(attempt) == "curl -H 'Accept-Encoding: gzip' --compressed 'http://h/'")
        attempt.fields = [.init("Range", "bytes=0-1")]
        #expect(Self.short(attempt) == "curl -H 'Range: bytes=0-1' 'http://h/'")
    }

    @Test func `roots are named if there are any`() throws {
        var attempt = try Self.attempt("GET", "https://h/")
        attempt.security = SecurityPlan(roots: RootsSpec(file: "/ca.pem"))
        #expect(Self.short(attempt) == "curl --http1.1 --cacert '/ca.pem' 'https://h/'")
        attempt.url = try HTTPURL(parsing: "http://h/")
        #expect(Self.short(attempt) == "curl 'http://h/'")
    }

    @Test(arguments: [
        ("abc", "abc"), ("", "''"), ("a b", "'a b'"), ("'", #"''\'''"#), ("-x", "-x"), ("~", "'~'"),
        ("$(rm)", "'$(rm)'"),
        ("a\nb", "'a\nb'"), ("!", "'!'"), ("\u{e9}", "'\u{e9}'"),
    ])
    func `a word is quoted for the shell [AA5]`(text: String, quoted: String) {
        #expect(ShellText.quoted(text) == quoted)
    }

    @Test func `what a terminal would act on is printed`() {
        #expect(ShellText.pasted("X: a\tb") == #""$(printf 'X: a\tb')""#)
        #expect(ShellText.pasted("X: a\nb") == "'X: a\nb'")
        #expect(ShellText.pasted("X: \u{1B}%'") == #""$(printf 'X: \033%%'\''')""#)
    }
}

extension String {
    fileprivate func range(of words: String) -> Range<String.Index>? { self.ranges(of: words).first }
}
