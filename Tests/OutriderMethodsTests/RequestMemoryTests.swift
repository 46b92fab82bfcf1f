// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

/// What requests keep, and how long.
struct RequestMemoryTests {
    private static func bytes(
        fields: HTTPFields = [], url: String = "http://a.test/", body: AttemptBody = .none, message: Int = 0
    ) throws -> Int {
        var spec = RequestSpec(url: url)
        spec.fields = fields
        let attempt = Attempt(method: "GET", url: try HTTPURL(parsing: url), fields: fields, body: body)
        return RequestMemory.bytes(of: spec, .success(attempt), message: message)
    }

    @Test func `a request counts its fields, its query, a short body, and the rest of its message`() throws {
        #expect(try Self.bytes() < 64)
        let long: HTTPFields = [HTTPFields.Field("X", String(repeating: "x", count: 60_000))]
        let short = HTTPFields((0..<900).map { HTTPFields.Field("X-\($0)", "y") })
        #expect(try Self.bytes(fields: short) > 900 * 128)
        #expect(try Self.bytes(fields: long, message: 60_100) < 61_000)
        #expect(try Self.bytes(url: "http://a.test/?" + String(repeating: "x", count: 10_000)) > 80_000)
        let body = try Self.bytes(body: .bytes(Array(repeating: 0, count: 50_000)), message: 50_100)
        #expect((50_000..<51_000).contains(body))
        #expect(try Self.bytes(message: 50_000) > 99_000)
    }

    @Test func `requests of ended calls are forgotten by number, and by memory from the oldest on`() {
        let recent = RecentHandles()
        var forgotten: [String] = []
        func add(_ name: String, _ bytes: Int) { recent.add(name, bytes) { forgotten.append($0) } }
        add("small", 0)
        for number in 0..<4 { add("large\(number)", 200 << 10) }
        #expect(forgotten == ["large0", "large1"])
        add("huge", 600 << 10)
        #expect(forgotten == ["large0", "large1", "large2", "large3", "huge"])
        for number in 0..<256 { add("n\(number)", 0) }
        // a place of the ring without a request forgets nothing again
        #expect(forgotten.dropFirst(5) == ["small"])
        add("last", 0)
        #expect(forgotten.last == "n0")
    }

    @Test(arguments: ["router.send", "router.start", "router.build"])
    func `long overrides are read with their message`(name: String) throws {
        let method = try #require(Methods.table[name])
        let params: JSONObject = ["router": .string("r"), "endpoint": .string("e")]
        #expect(method.decodedEarly(.object(params)) != nil)
    }
}
