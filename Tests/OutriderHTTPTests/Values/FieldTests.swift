// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct FieldTests {
    @Test func `names are found without regard to case and kept as written`() {
        var fields: HTTPFields = [.init("Accept", "a"), .init("accept", "b"), .init("X", "c")]
        #expect(fields.first("ACCEPT") == "a")
        #expect(fields.all("accept") == ["a", "b"])
        fields.set("aCCept", "d")
        #expect(fields.list == [.init("aCCept", "d"), .init("X", "c")])
        fields.set("Y", "e")
        #expect(fields.list.map(\.name) == ["aCCept", "X", "Y"])
        fields.remove("x")
        #expect(!fields.contains("X") && fields.contains("y"))
    }

    @Test func `setting a name keeps the place of its first field`() {
        var fields: HTTPFields = [.init("a", "1"), .init("b", "2"), .init("A", "3"), .init("a", "4"), .init("c", "5")]
        fields.set("A", "6")
        #expect(fields.list == [.init("A", "6"), .init("b", "2"), .init("c", "5")])
    }

    @Test func `a table of fields changes as the fields do`() {
        let names = ["a", "A", "b", "c", "C", "dd", "dD"]
        var random = SeededRandom(seed: 5)
        for round in 0..<500 {
            var fields = HTTPFields()
            var table = FieldTable(fields)
            for step in 0..<Int.random(in: 0...12, using: &random) {
                let field = HTTPFields.Field(names[Int.random(in: 0..<names.count, using: &random)], "\(step)")
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    fields.list.append(field)
                    table.add(field)
                case 1:
                    fields.set(field)
                    table.set(field)
                default:
                    fields.remove(field.name)
                    table.remove(field.name)
                }
            }
            #expect(table.fields == fields, "round \(round)")
        }
    }

    @Test
    func `three spellings are one field when they replace each other [D1] [3.C.1] [3.C.5]`() {
        let fields: HTTPFields = [.init("key", "1"), .init("b", "2"), .init("Key", "3"), .init("KEY", "4")]
        #expect(fields.unique().list == [.init("KEY", "4"), .init("b", "2")])
        var other: HTTPFields = [.init("c", "a")]
        other.set("C", "c")
        #expect(other.list == [.init("C", "c")])
    }

    @Test
    func `a sorted copy leaves the original in its order [D3] [3.C.2] [3.C.3]`() {
        let fields: HTTPFields = [.init("c", "1"), .init("A", "2"), .init("b", "3"), .init("a", "4")]
        #expect(fields.sorted().list.map(\.value) == ["2", "4", "3", "1"])
        #expect(fields.list.map(\.name) == ["c", "A", "b", "a"])
    }

    @Test(arguments: [
        ("a:b", "a", "b"), ("a:  b \t", "a", "b"), ("a: b: c", "a", "b: c"), ("a:", "a", ""), (":b", "", "b"),
    ])
    func `a line is a name and a value [D2] [3.C.6]`(line: String, name: String, value: String) {
        #expect(HTTPFields.Field(line: line) == .init(name, value))
        #expect(HTTPFields.Field(line: "no colon") == nil)
    }

    @Test(arguments: ["GET", "POST", "PURGE", "M-SEARCH", "get", "x!#$%&'*+-.^_`|~9", "OPTIONS"])
    func `a method is a token`(method: String) {
        #expect(FieldRules.fault(inMethod: method) == nil)
    }

    @Test(arguments: [
        "", " GET", "GET ", "GET /evil HTTP/1.1\r\nX: y", "G\u{0}T", "G\u{e9}T", "(GET)", "GE\tT", "CONNECT",
        "\u{ff27}ET",
        String(repeating: "A", count: 65),
    ])
    func `what is no method is refused`(method: String) {
        #expect(FieldRules.fault(inMethod: method) != nil)
    }

    @Test(arguments: [
        ("X-Name", "value"), ("X-Name", ""), ("x", "caf\u{e9} \u{1F600}"), ("X-Name", "a\tb"), ("Accept", "*/*"),
        ("Content-Type", "text/plain"), ("Expect", "100-continue"), ("Authorization", "Bearer x"), ("Proxyish", "x"),
        ("Cookie", "a=b"), ("Date", "x"), ("Via", "1.1 x"),
    ])
    func `these fields may be sent`(name: String, value: String) {
        #expect(FieldRules.fault(inField: name, value) == nil)
    }

    @Test(arguments: [
        ("", "x", "a header needs a name"),
        ("X Name", "x", "the header name \"X Name\" may only hold"),
        ("X-Name:", "x", "may only hold"),
        ("X-N\u{e4}me", "x", "may only hold"),
        ("X\r\nEvil", "x", "\"X\\u{d}\\u{a}Evil\""),
        ("X-Name", "a\r\nEvil: b", "the value of X-Name contains a line break at byte 1"),
        ("X-Name", "abcde\nb", "the value of X-Name contains a line break at byte 5"),
        ("X-Name", "\u{e9}\u{0}", "the value of X-Name contains a control character at byte 2"),
        ("X-Name", "\u{7f}", "contains a control character at byte 0"),
        ("X-Name", "\u{1b}[31m", "contains a control character"),
        ("Host", "evil", "Host cannot be set: it follows from the url"),
        ("content-length", "5", "content-length cannot be set: it follows from the body"),
        ("Transfer-Encoding", "chunked", "Transfer-Encoding cannot be set"),
        ("Connection", "close", "Connection cannot be set"),
        ("Keep-Alive", "5", "Keep-Alive cannot be set"),
        ("Upgrade", "h2c", "Upgrade cannot be set"),
        ("TE", "trailers", "TE cannot be set"),
        ("Trailer", "X", "Trailer cannot be set"),
        ("Proxy-Authorization", "Basic x", "it belongs to the connection to a proxy"),
        ("proxy-connection", "keep-alive", "it belongs to the connection to a proxy"),
        ("HTTP2-Settings", "x", "cannot be set"),
    ])
    func `these fields may not be sent, and the message says why`(name: String, value: String, part: String) {
        let fault = FieldRules.fault(inField: name, value)
        #expect(fault?.contains(part) == true, "\(fault ?? "")")
    }

    @Test func `a message never shows the value`() {
        #expect(FieldRules.fault(inField: "Authorization", "secret\n")?.contains("secret") == false)
    }

    @Test(arguments: [
        ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb\t", ["a", "b"]), ("", []), (",", []), (",a,,b,", ["a", "b"]),
        ("a b", ["a b"]),
    ])
    func `a list is split at its commas`(value: String, items: [String]) {
        #expect(FieldRules.listed(value) == items)
    }

    @Test(arguments: [
        ("0", 0), ("007", 7), ("9223372036854775807", Int64.max), ("9223372036854775808", nil), ("", nil), ("+5", nil),
        ("-5", nil), ("5x", nil), ("0x5", nil), (" 5", nil), ("5.0", nil), ("\u{665}", nil),
        (String(repeating: "9", count: 400), nil),
    ])
    func `a number is digits and nothing else`(text: String, number: Int64?) {
        #expect(FieldRules.decimal(text) == number)
    }

    @Test(arguments: [
        "Authorization", "cookie", "Set-Cookie", "Proxy-Authorization", "X-Api-Key", "x-auth-token", "Api-Key",
        "X-Secret",
        "X-CSRF-Token", "X-Amz-Security-Token", "Password", "X-Goog-Signature", "Ocp-Apim-Subscription-Key",
        "X-Functions-Key", "X-Session", "Idempotency_Key", "signingKey", "X-Client-Secret", "passphrase", "X-JWT",
        "OTP", "X-TO\u{212A}EN", "DPoP", "X-SessionId",
    ])
    func `fields that hold secrets are known`(name: String) {
        #expect(SecretFields.contains(name))
    }

    @Test(arguments: [
        "code", "code_verifier", "assertion", "sig", "pin", "user[pass]", "otp[]", "newKey", "sessionid", "PHPSESSID",
    ])
    func `parameters that hold secrets are known`(name: String) {
        #expect(SecretFields.containsParameter(name))
    }

    @Test(arguments: ["status_code", "codes", "postcode", "decode", "keys", "keyword", "pinned", "q"])
    func `other parameters are shown`(name: String) {
        #expect(!SecretFields.containsParameter(name))
    }

    @Test(arguments: [
        "Accept", "Content-Type", "User-Agent", "X-Name", "Referer", "Author", "WWW-Authenticate", "Monkey", "Keyboard",
        "Code", "X-Code", "DPoP-Nonce", "Session-Expires",
    ])
    func `other fields are shown`(name: String) {
        #expect(!SecretFields.contains(name))
    }

    @Test(arguments: SecretFields.usual)
    func `usual fields are shown by the rule, too`(name: String) {
        // in small letters a name is not in the list, and the rule decides
        #expect(!SecretFields.contains(name.lowercased()))
    }
}
