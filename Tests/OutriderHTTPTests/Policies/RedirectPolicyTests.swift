// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct RedirectPolicyTests {
    private static func attempt(
        _ method: String = "GET", _ url: String = "https://a.example/x/y?q#part", _ fields: HTTPFields = [],
        body: AttemptBody = .none
    ) throws -> Attempt {
        Attempt(method: method, url: try HTTPURL(parsing: url), fields: fields, body: body)
    }

    private static func next(
        _ status: Int, _ location: String?, _ attempt: Attempt, hops: Int = 0,
        _ change: (inout RedirectPolicy) -> Void = { _ in }
    ) throws -> (attempt: Attempt, hop: RedirectHop)? {
        var policy = RedirectPolicy.follow
        change(&policy)
        var fields: HTTPFields = []
        if let location { fields.add("Location", location) }
        return try policy.next(after: status, fields, to: attempt, hops: hops)
    }

    // MARK: methods and bodies (RFC 9110 section 15.4, fetch section 4.4)

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (303, "PUT", "GET"), (301, "PUT", "PUT"), (302, "PUT", "PUT"), (307, "PUT", "PUT"), (303, "DELETE", "GET"),
        (301, "DELETE", "DELETE"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"), (302, "PATCH", "PATCH"),
        (303, "GET", "GET"),
    ])
    func `the status decides what becomes of the method [T5]`(status: Int, method: String, becomes: String) throws {
        let found = try #require(try Self.next(status, "/z", try Self.attempt(method)))
        #expect(found.attempt.method == becomes)
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func `with the method goes the body, and what describes it`(
        status: Int
    ) throws {
        let fields: HTTPFields = [
            .init("Content-Type", "text/plain"), .init("content-language", "en"), .init("X-Own", "1"),
        ]
        let sent = try Self.attempt("POST", "http://a/", fields, body: .bytes([1]))
        let found = try #require(try Self.next(status, "/z", sent)).attempt
        let keeps = status > 303
        #expect(found.body == (keeps ? .bytes([1]) : .none))
        #expect(found.fields.list.map(\.name) == (keeps ? ["Content-Type", "content-language", "X-Own"] : ["X-Own"]))
    }

    @Test(.timeLimit(.minutes(1))) func `many fields are kept without long searches`() throws {
        let names = (0..<100_000).map { "x\($0)" }
        let sent = try Self.attempt("GET", "http://a/", HTTPFields((names + ["y", "Host"]).map { .init($0, "1") }))
        let keep = { (policy: inout RedirectPolicy) in policy.keepHeaders = names.map { $0.uppercased() } + ["host"] }
        let (next, hop) = try #require(try Self.next(307, "http://b/", sent, keep))
        #expect(next.fields.list.map(\.name) == names && hop.dropped == ["y", "Host"])
        var changed = next
        changed.url = try HTTPURL(parsing: "http://c/")
        changed.fields.add("z", "1")
        #expect(try RedirectPolicy.follow.leaveBehind(of: next, in: &changed) == names)
        #expect(changed.fields.list.map(\.name) == ["z"])
    }

    // MARK: what leads nowhere

    @Test(arguments: [200, 201, 300, 304, 305, 306, 309, 399, 404]) func `other statuses are responses`(
        status: Int
    ) throws {
        #expect(try Self.next(status, "/z", try Self.attempt()) == nil)
    }

    @Test(arguments: [nil, "", "  "]) func `without a place to go it is the response`(location: String?) throws {
        #expect(try Self.next(302, location, try Self.attempt()) == nil)
    }

    @Test func `what is not to be followed is the response`() throws {
        let found = try Self.next(302, "/z", try Self.attempt()) { $0 = .none }
        #expect(found == nil)
    }

    // MARK: where to

    @Test(arguments: [
        ("/z", "https://a.example/z"), ("z", "https://a.example/x/z"), ("../../z", "https://a.example/z"),
        ("?b c", "https://a.example/x/y?b%20c"), ("//b.example/z", "https://b.example/z"),
        ("https://a.example:443/", "https://a.example/"), (" /é ", "https://a.example/%C3%A9"),
        ("/%7Ea%2Fb", "https://a.example/%7Ea%2Fb"), ("HTTPS://B.Example./", "https://b.example./"),
    ])
    func `a Location is read from where the response came`(location: String, becomes: String) throws {
        let found = try #require(try Self.next(302, location, try Self.attempt()))
        #expect(found.attempt.url.description == becomes)
        #expect(found.hop.to == becomes + "#part")
        #expect(found.hop.from == "https://a.example/x/y?q#part")
    }

    @Test func `a Location without a fragment keeps ours`() throws {
        #expect(try Self.next(302, "/z", try Self.attempt())?.attempt.url.fragment == "part")
        #expect(try Self.next(302, "/z#theirs", try Self.attempt())?.attempt.url.fragment == "theirs")
    }

    @Test(arguments: [
        ("file:///etc/passwd", HTTPFailure.Kind.unsupportedScheme), ("ftp://h/", .unsupportedScheme),
        ("javascript:alert(1)", .unsupportedScheme), ("data:text/plain,x", .unsupportedScheme),
        ("gopher://h/", .unsupportedScheme), ("wss://a.example/", .unsupportedScheme),
        ("http://a.example/", .redirectRefused), ("http+unix://%2Frun%2Fx.sock/", .redirectRefused),
        ("https+unix://%2Frun%2Fx.sock/", .redirectRefused), ("https://u:p@a.example/", .redirectRefused),
        ("https://a.example:99999/", .redirectRefused), ("https://a.example:0/", .redirectRefused),
        ("https:///nohost", .redirectRefused), ("https://a.example\\@b.example/", .redirectRefused),
        ("/a\u{0}b", .redirectRefused), ("https://169.254.169.254/latest", .redirectRefused),
        ("https://[fd00:ec2::254]/", .redirectRefused), ("https://[::ffff:169.254.169.254]/", .redirectRefused),
        ("https://0xa9fea9fe/", .redirectRefused),
    ])
    func `a Location that must not be followed is refused`(location: String, kind: HTTPFailure.Kind) throws {
        let failure = #expect(throws: HTTPFailure.self) { try Self.next(302, location, try Self.attempt()) }
        #expect(failure?.kind == kind)
        #expect(failure?.pointer == nil)
        #expect(failure?.sent == .sent)
    }

    @Test func `a Location of a megabyte is refused`() throws {
        let location = "/" + String(repeating: "a", count: 1 << 20)
        let failure = #expect(throws: HTTPFailure.self) { try Self.next(302, location, try Self.attempt()) }
        #expect(failure?.kind == .redirectRefused)
    }

    @Test func `two different Locations are refused, two equal ones are one`() throws {
        let policy = RedirectPolicy.follow
        let attempt = try Self.attempt()
        let same: HTTPFields = [.init("Location", "/z"), .init("location", "/z")]
        #expect(try policy.next(after: 302, same, to: attempt, hops: 0)?.hop.to == "https://a.example/z#part")
        let other: HTTPFields = [.init("Location", "/z"), .init("Location", "/w")]
        #expect(throws: HTTPFailure.self) { try policy.next(after: 302, other, to: attempt, hops: 0) }
    }

    @Test func `a Unix socket leads only to itself`() throws {
        let attempt = try Self.attempt("GET", "http+unix://%2Frun%2Fx.sock/a")
        #expect(try Self.next(302, "/b", attempt)?.attempt.url.socketPath == "/run/x.sock")
        for location in ["http://h/", "http+unix://%2Frun%2Fy.sock/"] {
            #expect(throws: HTTPFailure.self) { try Self.next(302, location, attempt) }
        }
    }

    @Test func `there is a limit, and it is the last redirect that is refused [T6]`() throws {
        let attempt = try Self.attempt()
        #expect(try Self.next(302, "/z", attempt, hops: 19) != nil)
        let failure = #expect(throws: HTTPFailure.self) { try Self.next(302, "/z", attempt, hops: 20) }
        #expect(failure?.kind == .tooManyRedirects)
        var none = RedirectPolicy.follow
        none.limit = 0
        #expect(throws: HTTPFailure.self) {
            try none.next(after: 302, [.init("Location", "/z")], to: attempt, hops: 0)
        }
    }

    // MARK: what goes along to another origin

    private static let fields: HTTPFields = [
        .init("Authorization", "Bearer s"), .init("Cookie", "a=b"), .init("X-Api-Key", "s"), .init("Accept", "a/b"),
        .init("accept-encoding", "gzip"), .init("User-Agent", "u"), .init("Origin", "https://a.example"),
        .init("Referer", "https://a.example/secret"), .init("WWW-Authenticate", "x"), .init("X-Own", "1"),
        .init("Range", "bytes=0-1"), .init("Authentication-Info", "x"),
    ]
    private static let kept = ["Accept", "accept-encoding", "User-Agent", "Range"]

    /// Each shape of a change of origin, and of none.
    @Test(arguments: [
        ("https://a.example/z", true), ("https://A.EXAMPLE:443/z", true), ("https://a.example./z", true),
        ("https://a.example:8443/", false), ("https://b.example/", false), ("https://sub.a.example/", false),
        ("https://example/", false), ("//b.example", false),
    ])
    func `credentials and unmarked headers stay behind [T5]`(location: String, isSame: Bool) throws {
        let sent = try Self.attempt("GET", "https://a.example/", Self.fields)
        let found = try #require(try Self.next(302, location, sent))
        #expect(found.attempt.fields.list.map(\.name) == (isSame ? Self.fields.list.map(\.name) : Self.kept))
        let dropped = isSame ? [] : Self.fields.list.map(\.name).filter { !Self.kept.contains($0) }
        #expect(found.hop.dropped == dropped)
    }

    @Test func `https is another origin than http, even on the same host`() throws {
        let sent = try Self.attempt("GET", "http://a.example/", Self.fields)
        let found = try #require(try Self.next(302, "https://a.example/", sent))
        #expect(found.attempt.fields.list.map(\.name) == Self.kept)
    }

    @Test func `what was left behind does not come back on the way home`() throws {
        let sent = try Self.attempt("GET", "https://a.example/", Self.fields)
        let away = try #require(try Self.next(302, "https://b.example/", sent)).attempt
        let onward = try #require(try Self.next(302, "/more", away)).attempt
        let home = try #require(try Self.next(302, "https://a.example/", onward)).attempt
        #expect(home.fields.list.map(\.name) == Self.kept)
    }

    @Test func `marked headers go along`() throws {
        let sent = try Self.attempt("GET", "https://a.example/", Self.fields)
        let found = try #require(try Self.next(302, "https://b.example/", sent) { $0.keepHeaders = ["x-own"] })
        #expect(found.attempt.fields.contains("X-Own"))
        #expect(!found.attempt.fields.contains("Authorization"))
    }

    @Test func `a body goes to another origin only if it may`() throws {
        let fields: HTTPFields = [.init("Content-Type", "a/b"), .init("X-Own", "1")]
        let sent = try Self.attempt("PUT", "https://a.example/", fields, body: .bytes([1]))
        let failure = #expect(throws: HTTPFailure.self) { try Self.next(307, "https://b.example/", sent) }
        #expect(failure?.kind == .redirectRefused)
        let found = try #require(try Self.next(307, "https://b.example/", sent) { $0.keepsBody = true })
        #expect(found.attempt.body == .bytes([1]))
        #expect(found.attempt.fields.list.map(\.name) == ["Content-Type"])
    }

    @Test func `no Location whatever makes it crash, leave the web, or carry a secret away`() throws {
        let seeds = [
            "https://a.example/z", "//b.example:8443/a?b#c", "../x/./y", "?q", "#f", "http://[::1]:80/", "javascript:x",
            "http+unix://%2Fx/y", "https://u:p@h/",
        ]
        let sent = try Self.attempt("GET", "https://a.example/x", Self.fields)
        for location in Mutations(of: seeds, count: 5000, seed: 11, spice: ":/?#[]@%.\\+-") {
            guard let found = try? Self.next(302, location, sent) else { continue }
            let url = found.attempt.url
            #expect(url.scheme == .https && url.socketPath == nil && (1...65535).contains(url.port), "\(location)")
            let isHome = url.host == "a.example" || url.host == "a.example."
            #expect((isHome && url.port == 443) || !found.attempt.fields.contains("Authorization"), "\(location)")
        }
    }
}
