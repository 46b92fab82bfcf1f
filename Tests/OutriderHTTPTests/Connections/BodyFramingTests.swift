// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct BodyFramingTests {
    private static func framing(
        _ status: Int, _ fields: [(String, String)], method: String = "GET", version: HTTPVersion = .http11
    ) throws -> (BodyFraming, clear: Bool) {
        let list = fields.map { HTTPFields.Field($0.0, $0.1) }
        return try BodyFraming.of(
            ResponseHead(status: status, version: version, fields: HTTPFields(list)), to: method)
    }

    @Test(arguments: [
        ("GET", 200, "Content-Length: 5", BodyFraming.length(5), true),
        ("GET", 200, "Content-Length: 0", .length(0), true),
        ("GET", 200, "content-length:  7 ", .length(7), true),
        ("GET", 200, "Content-Length: 9223372036854775807", .length(.max), true),
        ("GET", 200, "", .untilClose, false),
        ("GET", 404, "", .untilClose, false),
        ("GET", 200, "Transfer-Encoding: chunked", .chunked, true),
        ("GET", 200, "Transfer-Encoding: Chunked", .chunked, true),
        ("HEAD", 200, "Transfer-Encoding: chunked|Content-Length: 3", .none, true),
        ("HEAD", 200, "Content-Length: 500", .none, true),
        ("HEAD", 200, "Transfer-Encoding: chunked", .none, true),
        ("HEAD", 200, "", .none, true),
        ("GET", 304, "Content-Length: 5", .none, false),
        ("GET", 304, "Content-Length: 0", .none, true),
        ("GET", 304, "", .none, true),
        ("GET", 304, "Transfer-Encoding: chunked", .none, false),
        ("GET", 204, "", .none, true),
        ("GET", 204, "Content-Length: 0", .none, true),
        ("GET", 204, "Content-Length: 5", .none, false),
        ("GET", 204, "Transfer-Encoding: chunked", .none, false),
        ("GET", 100, "", .none, true),
        ("GET", 205, "Content-Length: 0", .length(0), true),
        ("CONNECT", 200, "Content-Length: 5", .none, false),
        ("CONNECT", 407, "Content-Length: 5", .length(5), true),
    ])
    func `the head says where the body ends`(
        method: String, status: Int, fields: String, framing: BodyFraming, clear: Bool
    ) throws {
        let list = fields.split(separator: "|").map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), String(parts[1].dropFirst()))
        }
        let found = try Self.framing(status, list, method: method)
        #expect(found.0 == framing)
        #expect(found.clear == clear)
    }

    @Test func `chunks in HTTP 1.0 are read, and the connection ends`() throws {
        let found = try Self.framing(200, [("Transfer-Encoding", "chunked")], version: HTTPVersion(1, 0))
        #expect(found.0 == .chunked)
        #expect(!found.clear)
    }

    @Test(arguments: [
        ["5", "6"], ["5, 6"], ["5", "5"], ["5, 5"], ["5,"],
        ["-5"], ["+5"], ["5x"], ["0x5"], ["99999999999999999999999"], [""], [","], ["5 6"],
        ["9223372036854775808"], ["5;"], ["5\u{0}"], ["five"], ["5", ""], ["1e3"],
    ])
    func `lengths that are no length are refused`(values: [String]) throws {
        let fields = values.map { ("Content-Length", $0) }
        let failure = #expect(throws: HTTPFailure.self) { try Self.framing(200, fields) }
        #expect(failure?.kind == .malformedResponse)
        #expect(failure?.message.contains("Content-Length") == true)
    }

    @Test func `a length beside chunks is refused`() {
        let fields = [("Transfer-Encoding", "chunked"), ("Content-Length", "3")]
        let failure = #expect(throws: HTTPFailure.self) { try Self.framing(200, fields) }
        #expect(failure?.kind == .malformedResponse && failure?.message.contains("both") == true)
    }

    @Test(arguments: [
        "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "banana, chunked", "identity", "", "xchunked",
        "chunked;q=1", "\"chunked\"",
    ])
    func `transfer codings that were not offered are refused`(value: String) {
        for status in [200, 204, 304] {
            let failure = #expect(throws: HTTPFailure.self) {
                try Self.framing(status, [("Transfer-Encoding", value), ("Content-Length", "5")])
            }
            #expect(failure?.kind == .malformedResponse)
        }
        #expect(throws: HTTPFailure.self) {
            try Self.framing(200, [("Transfer-Encoding", "chunked"), ("transfer-encoding", "chunked")])
        }
    }
}
