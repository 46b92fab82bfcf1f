// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// Which requests stubs are for, and which of several stubs responds.
@Suite struct StubTests {
    private static func rule(_ url: String, _ statuses: [Int] = [200]) throws -> StubRule {
        StubRule(
            url: try URLPattern(url),
            replies: statuses.map { status in
                var reply = StubReply()
                reply.status = status
                return reply
            })
    }

    private static func request(
        _ url: String = "https://a.example/users/7?x=1&y=a%20b", method: String = "GET", fields: HTTPFields = [],
        body: String = ""
    ) -> ReplayRequest {
        ReplayRequest(method: method, url: url, fields: fields, body: Array(body.utf8))
    }

    /// The stub and the status of its response; nil if no stub responds.
    private static func response(of table: inout StubTable, _ request: ReplayRequest) -> (stub: String, status: Int)? {
        let fitting = StubTable.fitting(table.rules, request)
        guard case .reply(let reply, let stub) = table.take(request, fitting: fitting, at: 0, passes: false) else {
            return nil
        }
        return (stub, reply.status)
    }

    private static func fits(_ rule: StubRule, _ request: ReplayRequest) -> Bool {
        var table = StubTable()
        _ = table.add(rule)
        return response(of: &table, request) != nil
    }

    // MARK: requirements

    @Test(arguments: [("GET", true), ("POST", false), (nil, true)])
    func `a method is compared as it is`(method: String?, fits: Bool) throws {
        var rule = try Self.rule("/users/{id}")
        rule.method = method
        #expect(Self.fits(rule, Self.request()) == fits)
    }

    @Test(arguments: [
        ([("x", "1")], true), ([("y", "a b")], true), ([("x", "1"), ("y", "a b")], true), ([("x", "2")], false),
        ([("z", "1")], false),
    ])
    func `pairs of the query are compared decoded, and others may come`(_ query: [(String, String)], _ fits: Bool)
        throws
    {
        var rule = try Self.rule("*")
        rule.query = query.map { (name: $0.0, value: $0.1) }
        #expect(Self.fits(rule, Self.request()) == fits)
    }

    @Test(arguments: [("accept", "text/plain", true), ("Accept", "text/*", false), ("X-Other", "text/plain", false)])
    func `fields are compared by name in any case, and by value`(name: String, value: String, fits: Bool) throws {
        var rule = try Self.rule("*")
        rule.fields = [HTTPFields.Field(name, value)]
        let request = Self.request(fields: [
            HTTPFields.Field("Accept", "image/png"), HTTPFields.Field("Accept", "text/plain"),
        ])
        #expect(Self.fits(rule, request) == fits)
    }

    @Test(arguments: [1, 20])
    func `texts are compared by their bytes`(count: Int) throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let request = Self.request(
            "https://a.example/?x=caf%C3%A9", fields: [HTTPFields.Field("X-Place", composed)])
        for (text, fits) in [(composed, true), (decomposed, false)] {
            var rule = try Self.rule("*")
            rule.query = Array(repeating: (name: "x", value: text), count: count)
            #expect(Self.fits(rule, request) == fits)
            rule.query = []
            rule.fields.list = Array(repeating: HTTPFields.Field("X-Place", text), count: count)
            #expect(Self.fits(rule, request) == fits)
        }
    }

    @Test(arguments: [
        (#"{"a": 1}"#, #"{"b": 2, "a": 1.0}"#, true), (#"{"a": {"b": 1}}"#, #"{"a": {"b": 1, "c": 2}}"#, true),
        (#"{"a": [1, 2]}"#, #"{"a": [1, 2, 3]}"#, false), (#"{"a": [{}]}"#, #"{"a": [{"b": 1}]}"#, true),
        (#"{"a": null}"#, "{}", false), ("{}", "[]", false), ("{}", "no JSON", false), ("1", "1e0", true),
    ])
    func `the body has what the stub names`(wanted: String, body: String, fits: Bool) throws {
        var rule = try Self.rule("*")
        rule.body = try JSONParser.parse(Array(wanted.utf8))
        #expect(Self.fits(rule, Self.request(method: "POST", body: body)) == fits)
    }

    // MARK: which stub responds

    @Test(.timeLimit(.minutes(1))) func `many fields and pairs are compared without long searches`() throws {
        let names = (0..<40_000).map { "X\($0)" }
        let fields = HTTPFields(names.map { .init($0.lowercased(), "v") } + [.init("X1", "w")])
        let url = "https://a.example/?" + names.map { "\($0)=a%20b" }.joined(separator: "&")
        let request = Self.request(url, fields: fields)
        var rule = try Self.rule("*")
        rule.fields = HTTPFields(names.map { .init($0, "v") })
        rule.query = names.map { (name: $0, value: "a b") }
        #expect(Self.fits(rule, request))
        rule.fields.list.append(.init("x7", "w"))
        #expect(!Self.fits(rule, request))
        rule.fields.list.removeLast()
        rule.query.append((name: "x7", value: "a b"))
        #expect(!Self.fits(rule, request))
    }

    @Test func `the stub that was added last wins, while it may`() throws {
        var table = StubTable()
        _ = table.add(try Self.rule("*", [201]))
        var last = try Self.rule("/users/*", [202])
        last.times = 2
        _ = table.add(last)
        let statuses = (0..<3).map { _ in Self.response(of: &table, Self.request())?.status }
        #expect(statuses == [202, 202, 201])
        #expect(table.entries.map(\.hits) == [1, 2])
    }

    @Test func `the last requests of many stubs take little memory`() throws {
        var table = StubTable()
        for number in 0..<50 { _ = table.add(try Self.rule("/\(number)")) }
        var long: HTTPFields = []
        long.add("X-Long", String(repeating: "x", count: 200_000))
        for number in 0..<50 {
            let request = Self.request("https://a.example/\(number)", fields: long)
            #expect(Self.response(of: &table, request) != nil)
        }
        #expect(table.heldBytes <= 2 * StubTable.mostRequestBytes)
        let known = table.entries.indices.filter { table.entries[$0].last != nil }
        #expect(known.count == 20 && table.entries.allSatisfy { $0.hits == 1 })
        let removed = table.remove(nil)
        table.forgetRequests()
        #expect(removed == 50 && table.heldBytes == 0)
    }

    @Test func `responses come in order, and the last one stays`() throws {
        var table = StubTable()
        _ = table.add(try Self.rule("*", [201, 202]))
        #expect((0..<4).map { _ in Self.response(of: &table, Self.request())?.status } == [201, 202, 202, 202])
    }

    @Test func `a stub for each third request counts the requests that fit`() throws {
        var table = StubTable()
        _ = table.add(try Self.rule("*", [200]))
        var third = try Self.rule("/users/*", [503])
        third.every = 3
        _ = table.add(third)
        _ = Self.response(of: &table, Self.request("https://a.example/other"))
        let statuses = (0..<6).map { _ in Self.response(of: &table, Self.request())?.status }
        #expect(statuses == [200, 200, 503, 200, 200, 503])
    }

    @Test func `a stub waits for the response of another stub`() throws {
        var table = StubTable()
        let login = try #require(table.add(try Self.rule("/login", [200])))
        var data = try Self.rule("/data", [201])
        data.after = login
        _ = table.add(data)
        #expect(Self.response(of: &table, Self.request("https://a.example/data")) == nil)
        #expect(Self.response(of: &table, Self.request("https://a.example/login")) != nil)
        #expect(Self.response(of: &table, Self.request("https://a.example/data"))?.status == 201)
        #expect(table.requests.map(\.stub) == [nil, login, "stub_2"])
    }

    // MARK: requests without a stub

    @Test(
        arguments: [
            (nil, true, true), (nil, false, false), (.pass, false, true), (.fail, true, false),
        ] as [(StubTable.Unmatched?, Bool, Bool)])
    func `a request without a stub passes or fails`(_ unmatched: StubTable.Unmatched?, _ passes: Bool, _ goes: Bool)
        throws
    {
        var table = StubTable()
        _ = table.add(try Self.rule("/other"))
        table.unmatched = unmatched
        switch table.take(Self.request(), fitting: [], at: 0, passes: passes) {
        case .pass: #expect(goes)
        case .miss(let failure):
            #expect(!goes && failure.kind == .stubMiss && failure.message.contains("stub_1 (/other)"))
        case .reply: Issue.record("a stub responded")
        }
    }

    @Test func `removed stubs respond no more, and names are not given twice`() throws {
        var table = StubTable()
        let first = try #require(table.add(try Self.rule("*")))
        #expect(table.remove(first) == 1 && table.remove(first) == 0)
        #expect(Self.response(of: &table, Self.request()) == nil)
        #expect(table.add(try Self.rule("*")) != first && table.remove(nil) == 1 && table.isEmpty)
    }

    @Test func `remembered requests are bounded in bytes, and the latest stays`() {
        var table = StubTable()
        let fields = [HTTPFields.Field("X-Long", String(repeating: "x", count: 60_000))]
        for number in 0..<200 {
            let request = Self.request("https://a.example/\(number)", fields: HTTPFields(fields))
            _ = table.take(request, fitting: [], at: 0, passes: true)
        }
        #expect(table.requests.count * 60_000 <= StubTable.mostRequestBytes && table.requests.count > 50)
        #expect(table.requests.last?.request.url == "https://a.example/199")
        table.forgetRequests()
        _ = table.take(Self.request(), fitting: [], at: 0, passes: true)
        #expect(table.requests.count == 1)
    }

    @Test func `stubs and remembered requests are bounded`() throws {
        var table = StubTable()
        let rule = try Self.rule("*")
        for _ in 0..<StubTable.most { _ = table.add(rule) }
        #expect(table.add(rule) == nil)
        let long = Self.request(body: String(repeating: "a", count: 100_000))
        for _ in 0..<1500 { _ = table.take(long, fitting: [], at: 0, passes: false) }
        #expect(
            table.requests.count <= StubTable.mostRequests
                && table.requests.allSatisfy { $0.request.body.count <= 4096 })
    }

    @Test func `the work of comparing grows with patterns and bodies, and does not overflow`() throws {
        var table = StubTable()
        var rule = try Self.rule("/users/*")
        rule.body = .object(JSONObject())
        _ = table.add(rule)
        #expect(table.work(for: Self.request("/u", body: "{}")) == 8 * 2 + 2)
        _ = table.remove(nil)
        #expect(table.work(for: Self.request()) == 0)
    }
}
