// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct RouterTests {
    private static func parsed(_ text: String) throws -> JSONObject {
        try #require(try JSONParser.parse(Array(text.utf8)).object)
    }

    /// The request that one call of an endpoint makes, or the failure.
    private static func built(
        base: String = "http://x/v1", path: String = "/a", places: [String: ParameterPlace] = [:],
        defaults: String = "{}",
        options: String = "{}", paramDefaults: String = "{}", params: String = "{}", overrides: String = "{}"
    ) throws -> JSONObject {
        var endpoint = RouterEndpoint(name: "one", path: try PathTemplate(path))
        endpoint.places = places
        endpoint.options = try parsed(options)
        endpoint.paramDefaults = try parsed(paramDefaults)
        let router = RouterSpec(
            name: "r", baseURL: try RouterURL(base), defaults: try parsed(defaults), endpoints: [endpoint])
        return try RouterRequest.build(
            router, try #require(router.endpoint("one")), params: try parsed(params), overrides: try parsed(overrides))
    }

    @Test func `an endpoint in another normal form is another endpoint`() throws {
        let names = ["caf\u{e9}", "cafe\u{301}"]
        let endpoints = try names.map { RouterEndpoint(name: $0, path: try PathTemplate("/\($0.utf8.count)")) }
        let router = RouterSpec(name: "r", baseURL: try RouterURL("http://x"), defaults: [:], endpoints: endpoints)
        let found = names.map { router.endpoint($0)?.name.utf8.count }
        #expect(found == [5, 6] && router.endpoint("cafe") == nil)
    }

    private static func url(_ base: String, _ path: String, _ params: String) throws -> String? {
        try built(base: base, path: path, params: params)["url"]?.string
    }

    @Test(arguments: [
        ("http://x", "/a", "http://x/a"), ("http://x/", "/a", "http://x/a"), ("http://x//", "//a", "http://x/a"),
        ("http://x/v1", "a", "http://x/v1/a"), ("http://x/v1/", "/a/", "http://x/v1/a/"),
        ("http://x/v1/", "", "http://x/v1/"),
        ("http://x", "", "http://x"), ("http://x/v1", "/", "http://x/v1/"),
        ("http://x/v1?k=1", "/a", "http://x/v1/a?k=1"),
        ("http://x/v1?k=1", "/a?b=2", "http://x/v1/a?k=1&b=2"), ("http://x", "/a?b=2", "http://x/a?b=2"),
        ("http://x?k=1", "", "http://x?k=1"), ("http://[::1]:8080/v1", "/a", "http://[::1]:8080/v1/a"),
        ("http+unix://%2Ftmp%2Fs/v1", "/a", "http+unix://%2Ftmp%2Fs/v1/a"),
    ])
    func `base and path are joined with one slash [E1] [E3]`(base: String, path: String, url: String) throws {
        #expect(try Self.url(base, path, "{}") == url)
    }

    @Test(arguments: [
        ("/u/{id}", #"{"id":7}"#, "/u/7"), ("/u/{id}", #"{"id":"a b/c?d#e%"}"#, "/u/a%20b%2Fc%3Fd%23e%25"),
        ("/u/{id}", #"{"id":"-._~"}"#, "/u/-._~"), ("/u/{id}", #"{"id":"é"}"#, "/u/%C3%A9"),
        ("/u/{id}", #"{"id":true}"#, "/u/true"),
        ("/u/{id}", #"{"id":3.0}"#, "/u/3"), ("/u/{id}", #"{"id":1.5}"#, "/u/1.5"),
        ("/u/{id}", #"{"id":["a","b,c"]}"#, "/u/a,b%2Cc"),
        ("/u/{id}/f/{+path}", #"{"id":1,"path":"a/b c?d"}"#, "/u/1/f/a/b%20c%3Fd"),
        ("/{a}.{b}", #"{"a":"x","b":"y"}"#, "/x.y"),
        ("/{a}{a}", #"{"a":1}"#, "/11"), ("/u?x={id}", #"{"id":"a&b"}"#, "/u?x=a%26b"),
        ("/u/{id}", #"{"id":"..x"}"#, "/u/..x"),
        ("/u/{user-id}", #"{"user-id":"%2e"}"#, "/u/%252e"), ("/u/./{id}", #"{"id":1}"#, "/u/./1"),
    ])
    func `values stand in a path escaped [E4]`(path: String, params: String, expected: String) throws {
        #expect(try Self.url("http://x", path, params) == "http://x" + expected)
    }

    @Test(
        arguments: [
            ("/u/{id}", "{}", HTTPFailure.Kind.missingPathParameter, "/params/id"),
            ("/u/{id}", #"{"id":null}"#, .missingPathParameter, "/params/id"),
            ("/u/{id}", #"{"id":""}"#, .missingPathParameter, "/params/id"),
            ("/u/{id}", #"{"id":[]}"#, .missingPathParameter, "/params/id"),
            ("/u/{id}", #"{"id":"."}"#, .parametersDoNotFit, "/params/id"),
            ("/u/{id}", #"{"id":".."}"#, .parametersDoNotFit, "/params/id"),
            ("/u/{a}{b}", #"{"a":".","b":"."}"#, .parametersDoNotFit, "/params"),
            ("/u/{+p}", #"{"p":"a/../../b"}"#, .parametersDoNotFit, "/params/p"),
            ("/u/.{a}", #"{"a":"."}"#, .parametersDoNotFit, "/params/a"),
            ("/u/{id}", #"{"id":{"a":[1]}}"#, .parametersDoNotFit, "/params/id"),
        ] as [(String, String, HTTPFailure.Kind, String)])
    func `a value cannot lead elsewhere [E4]`(
        path: String, params: String, kind: HTTPFailure.Kind, pointer: String
    ) throws {
        let failure = #expect(throws: HTTPFailure.self) { try Self.url("http://x", path, params) }
        #expect(failure?.kind == kind)
        #expect(failure?.pointer == pointer)
    }

    @Test(arguments: ["/{", "/}", "/{}", "/{a", "/a}", "/{{a}}", "/{#a}", "/{?a}", "/{a*}", "/{a:3}", "/{a/b}", "/a#b"])
    func `a path that is not understood is refused`(path: String) {
        #expect(throws: JSONComplaint.self) { try PathTemplate(path) }
    }

    private static func place(
        _ part: ParameterPlace.Part, _ name: String? = nil, _ style: ParameterPlace.Style? = nil, explode: Bool? = nil
    ) -> [String: ParameterPlace] {
        var place = ParameterPlace(part, name: name)
        place.style = style
        place.explodes = explode
        return ["p": place]
    }

    @Test(
        arguments: [
            (place(.query), "[1,2]", "query", #"{"p":["1","2"]}"#), (place(.query), "7", "query", #"{"p":"7"}"#),
            // the comma between elements is the separator of RFC 6570, and only others are escaped
            (place(.query, explode: false), #"["a","b"]"#, "url", #""http://x/v1/a?p=a,b""#),
            (place(.query, explode: false), #"["a,b","c d"]"#, "url", #""http://x/v1/a?p=a%2Cb,c%20d""#),
            (place(.query), #"{"a":1,"b":2}"#, "query", #"{"a":"1","b":"2"}"#),
            (place(.query, explode: false), #"{"a":1}"#, "url", #""http://x/v1/a?p=a,1""#),
            (place(.query, explode: false), "7", "query", #"{"p":"7"}"#),
            (place(.query, "q", .deepObject), #"{"a":1}"#, "query", #"{"q[a]":"1"}"#),
            (place(.query, nil, .deepObject), "[1,true]", "query", #"{"p[]":["1","true"]}"#),
            (
                place(.query, nil, .deepObject), #"{"a":{"b":[{"c":2.0},[3]]},"d":null,"e":[]}"#, "query",
                #"{"p[a][b][0][c]":"2","p[a][b][1][]":["3"]}"#
            ),
            (place(.query, nil, .pipeDelimited), "[1,2]", "query", #"{"p":"1|2"}"#),
            (place(.query, nil, .spaceDelimited), "[1,2]", "query", #"{"p":"1 2"}"#),
            (place(.query), "null", "query", nil),
            (place(.header, "X-P"), "[1,2]", "headers", #"[{"name":"X-P","value":"1,2"}]"#),
            (
                place(.header, "X-P", explode: true), #"{"a":1,"b":2}"#, "headers",
                #"[{"name":"X-P","value":"a=1,b=2"}]"#
            ),
            (place(.cookie, "c"), #""a b;""#, "headers", #"[{"name":"Cookie","value":"c=a%20b%3B"}]"#),
            (place(.body), #"{"a":1}"#, "body", #"{"json":{"a":1}}"#),
            ([:], #"{"a":1}"#, "parameters", #"{"p":{"a":1}}"#),
            ([:], "null", "parameters", #"{"p":null}"#),
        ] as [([String: ParameterPlace], String, String, String?)])
    func `a parameter goes where its place says [E4]`(
        places: [String: ParameterPlace], value: String, member: String, expected: String?
    ) throws {
        let request = try Self.built(places: places, params: #"{"p":\#(value)}"#)
        let expected = try expected.map { try JSONParser.parse(Array($0.utf8)) }
        #expect(request[member] == expected)
    }

    @Test func `many names of a query are merged, each once`() throws {
        let many = (0..<9000).map { #""k\#($0)":1"# }.joined(separator: ",")
        let request = try Self.built(
            places: Self.place(.query), defaults: #"{"query":{"k7":"0","z":"1"}}"#, params: #"{"p":{\#(many)}}"#)
        let query = try #require(request["query"]?.object)
        #expect(query.members.count == 9001 && query["k7"]?.string == "1" && query["z"]?.string == "1")
    }

    @Test func `a list with commas covers the query of the router, and a query of the call covers the list`() throws {
        let places = Self.place(.query, explode: false)
        let (defaults, params) = (#"{"query":{"p":"0","q":"1"}}"#, #"{"p":[1,2]}"#)
        let list = try Self.built(path: "/a?x=y", places: places, defaults: defaults, params: params)
        #expect(list["url"]?.string == "http://x/v1/a?x=y&p=1,2" && list["query"] == .object(["q": .string("1")]))
        let overrides = #"{"query":{"p":"3"}}"#
        let covered = try Self.built(places: places, defaults: defaults, params: params, overrides: overrides)
        #expect(covered["url"]?.string == "http://x/v1/a" && covered["query"]?.object?["p"]?.string == "3")
    }

    @Test(arguments: [
        (#"{"method":"GET"}"#, #"{"method":"PUT"}"#, #"{"method":"POST"}"#, "method", #""POST""#),
        (#"{"method":"GET"}"#, #"{"method":"PUT"}"#, #"{"method":null}"#, "method", #""PUT""#),
        (
            #"{"headers":{"A":"1","b":["2","3"]}}"#, #"{"headers":{"a":"4"}}"#,
            #"{"headers":[{"name":"C","value":"5"}]}"#, "headers",
            #"[{"name":"b","value":"2"},{"name":"b","value":"3"},{"name":"a","value":"4"},{"name":"C","value":"5"}]"#
        ),
        (#"{"headers":{"A":"1"}}"#, #"{"headers":{"a":[]}}"#, "{}", "headers", "[]"),
        (#"{"query":{"a":1,"b":2}}"#, #"{"query":{"b":3}}"#, #"{"query":{"c":4}}"#, "query", #"{"a":1,"b":3,"c":4}"#),
        (#"{"timeout":{"total":1,"tls":2}}"#, #"{"timeout":{"total":3}}"#, "{}", "timeout", #"{"total":3,"tls":2}"#),
        (#"{"timeout":{"total":1}}"#, #"{"timeout":5}"#, "{}", "timeout", "5"),
        (#"{"validate":{"status":[200]}}"#, #"{"validate":true}"#, "{}", "validate", "true"),
    ])
    func `what is said later covers what was said before [E4] [E5] [T7]`(
        defaults: String, options: String, overrides: String, member: String, expected: String
    ) throws {
        let request = try Self.built(defaults: defaults, options: options, overrides: overrides)
        #expect(request[member] == (try JSONParser.parse(Array(expected.utf8))))
    }

    @Test func `defaults stand in for parameters that are not given [E4]`() throws {
        let places = ["page": ParameterPlace(.query)]
        let paramDefaults = #"{"page":1}"#
        let first = try Self.built(places: places, paramDefaults: paramDefaults)
        let second = try Self.built(places: places, paramDefaults: paramDefaults, params: #"{"page":2}"#)
        #expect(first["query"] == .object(["page": .string("1")]))
        #expect(second["query"] == .object(["page": .string("2")]))
    }

    @Test func `no value of any kind leaves its segment`() throws {
        var random = SeededRandom(seed: 81)
        let spice = Array("./\\%2eE?#&=;: a\u{0}é{}".unicodeScalars)
        for _ in 0..<3000 {
            var value = ""
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                if let scalar = spice.randomElement(using: &random) { value.unicodeScalars.append(scalar) }
            }
            let params = JSONObject(members: [.init("id", .string(value))])
            let endpoint = RouterEndpoint(name: "one", path: try PathTemplate("/a/{id}/b"))
            let router = RouterSpec(
                name: "r", baseURL: try RouterURL("http://h/v"), defaults: [:], endpoints: [endpoint])
            guard let request = try? RouterRequest.build(router, endpoint, params: params, overrides: [:]) else {
                continue
            }
            let url = try HTTPURL(parsing: try #require(request["url"]?.string))
            #expect(url.host == "h" && url.target.hasPrefix("/v/a/") && url.target.hasSuffix("/b"))
            #expect(url.target.split(separator: "/").count == 4)
        }
    }

    @Test func `any template is read or refused`() {
        for text in Mutations(
            of: ["/u/{id}/f/{+path}?q={q}", "/{a}.{b}", "{x}"], count: 5000, seed: 82, spice: "{}+/?#.%*:")
        {
            guard let template = try? PathTemplate(text) else { continue }
            #expect(template.text == text)
        }
    }
}
