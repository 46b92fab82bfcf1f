// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON
import Testing

@testable import OutriderMethods

/// Damaged definitions of stubs and cassettes. `OUTRIDER_FUZZ` names the number of rounds.
@Suite struct StubFuzzTests {
    private static let rounds = getenv("OUTRIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 1000

    private static let stubs: [String] = [
        #"{"method":"GET","url":"https://a.example/{id}","query":{"a":"b"},"headers":{"A":"b"},"times":2,"every":3,"response":{"status":201,"json":{"a":[1]},"delay":0.5,"trailers":{"T":"1"}}}"#,
        #"{"url":"*","body":{"a":1},"unmatched":"pass","responses":[{"text":"a"},{"fault":{"lost":100}},{"chunks":[{"after":1,"text":"a"},{"base64":"AAA="}]}]}"#,
        #"{"url":"/a","fault":{"timeout":"connect","real":true}}"#, #"{"url":"/a","fault":{"slow":1000}}"#,
    ]
    private static let cassettes: [String] = [
        #"{"path":"/a.har","mode":"none","match":{"headers":["A"],"host":false},"ignore":{"query":["a"],"body":["/a/*"]},"mask":{"headers":["A"],"values":["abcdef"],"body":["/b"],"show":["c"]},"only":["*"],"timing":0.5,"repeat":"last"}"#,
        #"{"path":"/a.har","timing":"recorded","mask":{"query":["a"]}}"#, #"{"path":"/a.har","except":["/a/*"]}"#,
    ]

    /// Texts with bytes changed, and values of other kinds in place of members.
    private static func damaged(_ samples: [String], _ seed: UInt64, _ use: (JSONValue) -> Void) {
        var random = SmallRandom(state: seed)
        let values = ["null", "-1", "1e999", "\"\"", "[]", "{}", "true", "9223372036854775807", "[[]]", "\"\\u0000\""]
        for _ in 0..<rounds {
            guard var text = samples.randomElement(using: &random).map({ Array($0.utf8) }) else { return }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                if Bool.random(using: &random), let colon = text[place...].firstIndex(of: UInt8(ascii: ":")) {
                    let end = text[(colon + 1)...].firstIndex { Array(",}]".utf8).contains($0) } ?? text.count
                    let value = values.randomElement(using: &random) ?? ""
                    text.replaceSubrange((colon + 1)..<end, with: value.utf8)
                } else {
                    text[place] = UInt8.random(in: 0x20...0x7E, using: &random)
                }
            }
            if let json = try? JSONParser.parse(text) { use(json) }
        }
    }

    @Test func `damaged definitions are stubs or complaints`() {
        var (taken, refused) = (0, 0)
        let request = ReplayRequest(
            method: "GET", url: "https://a.example/7?a=b", fields: [HTTPFields.Field("A", "b")], body: Array("{}".utf8))
        Self.damaged(Self.stubs, 18) { json in
            do throws(JSONComplaint) {
                var params = try StubAdd.Params(json: json)
                params.rule.replies = [StubReply()]
                var table = StubTable()
                _ = table.add(params.rule)
                _ = table.take(request, fitting: StubTable.fitting(table.rules, request), at: 0, passes: false)
                taken += 1
            } catch {
                if error.message.isEmpty { Issue.record("a complaint without words: \(json)") }
                refused += 1
            }
        }
        #expect(taken > 0 && refused > 0)
    }

    @Test func `damaged settings of cassettes are settings or complaints`() {
        var (taken, refused) = (0, 0)
        Self.damaged(Self.cassettes, 19) { json in
            do throws(JSONComplaint) {
                _ = try ReplayStart.Params(json: json)
                taken += 1
            } catch {
                if error.message.isEmpty { Issue.record("a complaint without words: \(json)") }
                refused += 1
            }
        }
        #expect(taken > 0 && refused > 0)
    }
}
