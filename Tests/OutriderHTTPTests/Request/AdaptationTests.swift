// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What declarative interceptors do to an attempt.
struct AdaptationTests {
    private static func attempt(_ url: String, _ fields: HTTPFields = []) throws -> Attempt {
        Attempt(method: "GET", url: try HTTPURL(parsing: url), fields: fields)
    }

    private static func field(_ name: String, _ value: String) -> HTTPFields.Field { HTTPFields.Field(name, value) }

    @Test(arguments: [1, 12])
    func `many changes that have become one do what they do one by one`(spellings: Int) throws {
        let names = (0..<spellings).flatMap { count in
            ["A", "a", "B", "C", "c", "D"].map { $0 + String(repeating: "x", count: count) }
        }
        var random = SeededRandom(seed: 11)
        for round in 0..<500 {
            var one = try Self.attempt("http://h/", [Self.field("b", "0"), Self.field("E", "0"), Self.field("a", "0")])
            var other = one
            var chain: [Adaptation] = []
            for step in 0..<Int.random(in: 1...6, using: &random) {
                let adaptation: Adaptation
                if Int.random(in: 0..<4, using: &random) == 0 {
                    adaptation = .query(Bool.random(using: &random) ? "q\(step)=1" : "")
                } else {
                    let count = Int.random(in: 0...3 * spellings, using: &random)
                    let fields = (0..<count).map { index in
                        Self.field(names[Int.random(in: 0..<names.count, using: &random)], "\(step).\(index)")
                    }
                    adaptation = .headers(try FieldChanges(HTTPFields(fields)))
                }
                adaptation.apply(to: &one, home: one.url)
                chain.add(adaptation)
            }
            for adaptation in chain { adaptation.apply(to: &other, home: other.url) }
            #expect(one.fields == other.fields, "round \(round)")
            #expect(one.url == other.url, "round \(round)")
        }
    }

    @Test func `what may not be sent is refused when it is given`() {
        #expect(throws: HTTPFailure.self) { try FieldChanges([Self.field("A b", "1")]) }
        #expect(throws: HTTPFailure.self) { try FieldChanges([Self.field("Host", "h")]) }
        #expect(throws: HTTPFailure.self) { try Credential.bearer("a\nb") }
    }

    @Test(
        "a credential goes to the origins that it names, and to no others",
        arguments: [
            ("https://api.example.com/x", true), ("https://API.example.com.:443/", true),
            ("http://api.example.com/", false), ("https://api.example.com:8443/", false),
            ("https://example.com/", false), ("https://evil.api.example.com/", false),
            ("https://api.example.com.evil.example/", false), ("http+unix://%2Ftmp%2Fs/", false),
        ])
    func origins(_ url: String, _ goes: Bool) throws {
        let origins = [try HTTPURL(parsing: "https://api.example.com"), try HTTPURL(parsing: "http://127.0.0.1:81")]
        let credential = Credential.basic(user: "u", password: "p", origins: origins)
        var attempt = try Self.attempt(url, [Self.field("authorization", "own")])
        Adaptation.credential(credential).apply(to: &attempt, home: attempt.url)
        #expect(attempt.fields.list.map(\.value) == [goes ? "Basic dTpw" : "own"])
    }

    @Test func `a credential does not go along when something leads elsewhere`() throws {
        let home = try HTTPURL(parsing: "http://a.example/")
        let (anywhere, named) = (
            try Credential.bearer("1"), try Credential.bearer("2", origins: [try HTTPURL(parsing: "http://b.example")])
        )
        for (credential, url, stays) in [
            (anywhere, "http://a.example/x", true), (anywhere, "http://b.example/", false),
            (named, "http://b.example/", true), (named, "http://a.example/", false),
        ] {
            var attempt = try Self.attempt(credential == named ? "http://b.example/" : "http://a.example/")
            Adaptation.credential(credential).apply(to: &attempt, home: home)
            #expect(attempt.fields.contains("Authorization"))
            attempt.url = try HTTPURL(parsing: url)
            [Adaptation.credential(credential)].withholdCredentials(from: &attempt, home: home)
            #expect(attempt.fields.contains("Authorization") == stays)
        }
        // what the caller says itself is the caller's own
        var attempt = try Self.attempt("http://c.example/", [Self.field("Authorization", "own")])
        [Adaptation.credential(named)].withholdCredentials(from: &attempt, home: home)
        #expect(attempt.fields.list.count == 1)
    }
}
