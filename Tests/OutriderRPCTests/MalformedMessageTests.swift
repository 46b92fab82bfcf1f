// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

struct MalformedMessageTests {
    private func id(_ bytes: [UInt8]) -> RequestID? { bytes.withUnsafeBufferPointer { MalformedMessage.id(in: $0) } }
    private func id(_ text: String) -> RequestID? { id(Array(text.utf8)) }

    @Test func `bytes that are not UTF-8 do not hide the id`() {
        var bytes = Array(#"{"params":{"a":"?"},"id":42,"jsonrpc":"2.0","method":"m"}"#.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "?") { bytes[index] = 0xFF }
        #expect(id(bytes) == .integer(42))
    }

    @Test(
        arguments: [
            #"{"jsonrpc":"2.0","id":"s","method":"m","params":{"a":"\ud800"}}"#,
            #"{"id":"s","jsonrpc":"2.0","method":"x","params":{"a":"#,
            #"{"id":"s","method":"x","params":{"a":[{},{"b":"unfin"#,
            #"{"id":"s","method":"x","params":{"a":1,"a":2}}"#,
            #"{"id":"s","method":"x","params":[1e999, 123456789012345678901234567890]}"#,
            #"{"id":"s","method":"x","params":\#(String(repeating: "[", count: 500))\#(String(repeating: "]", count: 500))}"#,
            #"{"params":{"id":3,"method":{"id":4}},"id":"s","method":"x","params":"#,
            #"{ "id" : "s" , "method" : "x" , "params" : tru"#,
        ])
    func `the id beside the method is found`(_ text: String) {
        #expect(id(text) == .string("s"))
    }

    @Test(
        arguments: [
            "{oops", "", "[", #"[{"id":1,"method":"x"#, #"{"id":1}"#, #"{"id":1,"result":"#,
            #"{"id":1,"id":2,"method":"x","params":"#, #"{"id":1.5,"method":"x","params":"#,
            #"{"id":null,"method":"x","params":"#, #"{"id":[1],"method":"x","params":"#,
            #"{"method":"x","params":{"id":1},"#, #"{"method":"x","id":12"#, #"{"method":"x","id":"ab"#,
            #"{"jsonrpc":"2.0","method":"a","id":1} x"#, #"{"method":"a","id":1}{"method":"b","id":2}"#,
            #"{'jsonrpc':'2.0','method':'a','id':1}"#, #"{"jsonrpc":"2.0",/* */"method":"a","id":1}"#,
            #"{"jsonrpc":"2.0","method":"a","id":1,}"#, #"{"method":"a","params":[NaN],"id":1}"#,
            #"{"method":"a","id":9223372036854775808}"#,
            #"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
        ])
    func `a doubtful id is not used`(_ text: String) {
        #expect(id(text) == nil, "\(text)")
    }

    @Test(arguments: [
        (#"{"method":"a.b","params":"\ud800"}"#, true), (#"{"method":"a\u002eb","params":{"c":"#, true),
        (#"{"params":"\ud800","method":"a.b"}"#, true), (#"{"method":"c","method":"a.b"}"#, true),
        (#"{"params":["a.b"],"#, true), (#"[{"method":"a.b"}]"#, true),
        (#"{"method":"c"}{"method":"a.b"}"#, true), (#"{"params":x,"method":"a.b"}"#, true),
        (#"{"method":"c","params":["a.b","\ud800"]}"#, false), (#"{"method":"c","params":{"method":"a.b","#, false),
        (#"{"method":7}"#, false),
    ])
    func `the outermost method tells which method is called`(_ text: String, isCalled: Bool) {
        let found = Array(text.utf8).withUnsafeBufferPointer { MalformedMessage.mayCall(["a.b"], in: $0) }
        #expect(found == isCalled, "\(text)")
    }

    @Test func `a message without memory is refused with its id, and a reply to a callback ends the callback`() {
        func reply(_ text: String) -> Message {
            Array(text.utf8).withUnsafeBufferPointer { MalformedMessage.reply(withoutMemory: $0) }
        }
        for (text, id) in [
            (#"{"jsonrpc":"2.0","id":5,"method":"x","params":{"result":"#, RequestID.integer(5)),
            (#"{"jsonrpc":"2.0","method":"x","params":{"id":"#, nil), (#"[{"id":5,"method":"#, nil),
        ] {
            guard case .broken(let found, let error) = reply(text) else { return #expect(Bool(false)) }
            #expect(found == id && error.code == -32011 && error.data?["what"] == .string("memory"))
            #expect(error.message.contains("--memory"))
        }
        guard case .reply(.integer(6), .error(let error)) = reply(#"{"jsonrpc":"2.0","id":6,"result":{"body":{"#)
        else { return #expect(Bool(false)) }
        #expect(error.object?["message"]?.string?.contains("--memory") == true)
    }

    @Test func `a malformed reply to a callback ends the callback, and a reply to no callback is refused`() throws {
        func reply(_ text: String) throws -> Message {
            let bytes = Array(text.utf8)
            let failure = #expect(throws: JSONFailure.self) { try JSONParser.parse(bytes) }
            return try bytes.withUnsafeBufferPointer {
                MalformedMessage.reply(to: $0, try #require(failure), framing: .line)
            }
        }
        let malformed = try reply(#"{"jsonrpc":"2.0","id":1000000001,"result":{"a\u0000":1}}"#)
        guard case .reply(.integer(1_000_000_001), .error(let error)) = malformed else {
            return #expect(Bool(false))
        }
        #expect(error.object?["code"] == .integer(-32700))
        for text in [#"{"jsonrpc":"2.0","id":7,"result":{"a":"#, #"{"jsonrpc":"2.0","id":1000000001,"method":"a","#] {
            guard case .broken(_, let error) = try reply(text) else { return #expect(Bool(false)) }
            #expect(error.code == -32700)
        }
        let glimpse = Array(#"{"id":1000000002,"result":{"a":"xxxx"#.utf8)
        let long = glimpse.withUnsafeBufferPointer { MalformedMessage.reply(toTooLong: $0, limit: 99) }
        guard case .reply(.integer(1_000_000_002), .error(let other)) = long else { return #expect(Bool(false)) }
        #expect(other.object?["code"] == .integer(-32010))
    }

    @Test func `every prefix of a message is safe`() {
        let bytes = Array(#"{"params":{"a":["\u00e9\"",-1.5e3,null]},"id":"s","jsonrpc":"2.0","method":"m"}"#.utf8)
        for count in 0...bytes.count {
            let found = id(Array(bytes[..<count]))
            #expect(found == nil || found == .string("s"))
        }
        #expect(id(bytes) == .string("s"))
    }

    @Test func `random damage is safe`() {
        var random = SystemRandomNumberGenerator()
        let bytes = Array(#"{"params":{"a":["x",-1.5e3,null]},"id":7,"jsonrpc":"2.0","method":"m"}"#.utf8)
        for _ in 0..<5000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: damaged.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = id(damaged)
        }
    }

    @Test func `a line that ends too early says what to do`() throws {
        let bytes = Array(#"{"id":5,"jsonrpc":"2.0","method":"x","params":{"a":"#.utf8)
        let failure = #expect(throws: JSONFailure.self) { try JSONParser.parse(bytes) }
        let reply = try bytes.withUnsafeBufferPointer {
            MalformedMessage.reply(to: $0, try #require(failure), framing: .line)
        }
        guard case .broken(.integer(5), let error) = reply else {
            Issue.record("\(reply)")
            return
        }
        #expect(error.code == -32700)
        #expect(error.data?["hint"]?.string?.contains("jq -c") == true)
        #expect(error.data?["reason"] != nil)
        let framed = try bytes.withUnsafeBufferPointer {
            MalformedMessage.reply(to: $0, try #require(failure), framing: .header)
        }
        guard case .broken(_, let other) = framed else {
            Issue.record("\(framed)")
            return
        }
        #expect(other.data?["hint"]?.string?.contains("bytes") == true)
        #expect(other.message.contains("Content-Length"))
    }

    @Test(arguments: [
        (#"{"id":5,"method":"x"}{"id":6,"method":"x"}"#, Framing.line, "send one message per line"),
        (#"{"id":5,"method":"x"}C"#, .header, "; check that Content-Length is the number of bytes"),
        (#"{"id":5,"method":"x""#, .header, "; check that Content-Length is the number of bytes"),
    ])
    func `text behind the message says what to do`(text: String, framing: Framing, remedy: String) throws {
        let bytes = Array(text.utf8)
        let failure = #expect(throws: JSONFailure.self) { try JSONParser.parse(bytes) }
        let reply = try bytes.withUnsafeBufferPointer {
            MalformedMessage.reply(to: $0, try #require(failure), framing: framing)
        }
        guard case .broken(_, let error) = reply else { return #expect(Bool(false)) }
        #expect(error.message.contains(remedy), "\(error.message)")
    }

    @Test func `a message over the limit names the limit`() {
        let glimpse = Array(#"{"id":7,"method":"x","params":{"a":"xxxx"#.utf8)
        let reply = glimpse.withUnsafeBufferPointer { MalformedMessage.reply(toTooLong: $0, limit: 99) }
        guard case .broken(.integer(7), let error) = reply else {
            Issue.record("\(reply)")
            return
        }
        #expect(error.code == -32010)
        #expect(error.data?["limit"] == .integer(99))
    }
}
