// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

func parsed(_ text: String) throws -> Incoming {
    try Array(text.utf8).withUnsafeBufferPointer { try Incoming(parsing: $0) }
}

func message(_ text: String) throws -> Message? {
    guard case .one(let message) = try parsed(text) else { return nil }
    return message
}

struct MessageTests {
    @Test func `a call keeps its id, method and params`() throws {
        let call = try message(#"{"jsonrpc":"2.0","id":"7","method":"a.b","params":{"x":1},"extra":true}"#)
        #expect(call == .call(id: .string("7"), method: "a.b", params: .object(["x": .integer(1)])))
        let note = try message(#"{"method":"a.b","jsonrpc":"2.0"}"#)
        #expect(note == .call(id: nil, method: "a.b", params: .object([:])))
    }

    @Test(arguments: ["null", "[]", "{}", "[{}]"])
    func `params may be spelled in several ways`(_ params: String) throws {
        let call = try message(#"{"jsonrpc":"2.0","id":1,"method":"m","params":\#(params)}"#)
        #expect(call == .call(id: .integer(1), method: "m", params: .object([:])))
    }

    @Test(arguments: ["5", "\"x\"", "true", "[1]", "[{},{}]", "[null]"])
    func `other params are refused, or ignored in a notification`(_ params: String) throws {
        guard
            case .broken(.integer(1), let error) = try message(
                #"{"jsonrpc":"2.0","id":1,"method":"m","params":\#(params)}"#)
        else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == -32602)
        #expect(error.data?["pointer"] == .string("/params"))
        #expect(try message(#"{"jsonrpc":"2.0","method":"m","params":\#(params)}"#) == .ignored)
    }

    @Test(
        arguments: [
            ("0", RequestID.integer(0)), ("-1", .integer(-1)), ("\"\"", .string("")), ("3.0", .integer(3)),
            ("9223372036854775807", .integer(.max)), ("\"é\"", .string("é")),
        ])
    func `strings and integers are ids`(_ text: String, _ id: RequestID) throws {
        #expect(
            try message(#"{"jsonrpc":"2.0","id":\#(text),"method":"m"}"#)
                == .call(id: id, method: "m", params: .object([:])))
    }

    @Test(arguments: ["1.5", "null", "true", "[1]", "{}", "1e300", "\"\(String(repeating: "x", count: 257))\""])
    func `other ids are refused with a null id`(_ text: String) throws {
        guard case .broken(nil, let error) = try message(#"{"jsonrpc":"2.0","id":\#(text),"method":"m"}"#) else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == -32600)
        #expect(error.data?["pointer"] == .string("/id"))
    }

    @Test(
        arguments: [
            (#"{"id":1,"method":"m"}"#, "/jsonrpc"), (#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "/jsonrpc"),
            (#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "/jsonrpc"), (#"{"jsonrpc":"2.0","id":1,"method":5}"#, "/method"),
            (#"{"jsonrpc":"2.0","id":1}"#, "/method"), (#"{"jsonrpc":"2.0","id":1,"method":""}"#, "/method"),
            (#"{"jsonrpc":"2.0","id":1,"method":null}"#, "/method"),
            (#"{"jsonrpc":"2.0","id":1,"method":"\#(String(repeating: "m", count: 129))"}"#, "/method"),
        ])
    func `the reply to a broken envelope has its id and the member at fault`(_ text: String, _ pointer: String) throws {
        guard case .broken(.integer(1), let error) = try message(text) else {
            Issue.record("not refused: \(text)")
            return
        }
        #expect(error.code == -32600)
        #expect(error.data?["pointer"] == .string(pointer))
    }

    @Test(arguments: [
        "1", "\"x\"", "null", "true", "{}", #"{"foo":"boo"}"#, #"{"jsonrpc":"2.0","method":1,"params":"bar"}"#,
    ])
    func `what is no message has no id`(_ text: String) throws {
        guard case .broken(nil, let error) = try message(text) else {
            Issue.record("not refused: \(text)")
            return
        }
        #expect(error.code == -32600)
        if !text.hasPrefix("{") { #expect(error.message == "not an object") }
    }

    @Test func `replies are recognised, however they spell what is not there`() throws {
        #expect(
            try message(#"{"id":7,"result":{},"error":null}"#) == .reply(id: .integer(7), .result(.object([:]))))
        #expect(
            try message(#"{"jsonrpc":"2.0","id":7,"error":{"code":1},"result":null}"#)
                == .reply(id: .integer(7), .error(.object(["code": .integer(1)]))))
        #expect(try message(#"{"jsonrpc":"2.0","id":7,"result":null}"#) == .reply(id: .integer(7), .result(.null)))
        let error = RPCError(.invalidRequest, "method is missing", data: ["pointer": .string("/method")])
        #expect(
            try message(#"{"jsonrpc":"2.0","id":1000000001}"#) == .reply(id: .integer(1_000_000_001), .empty(error)))
        #expect(try message(#"{"jsonrpc":"2.0","id":7}"#) == .broken(id: .integer(7), error))
        #expect(try message(#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#) == .ignored)
        #expect(try message(#"{"jsonrpc":"2.0","result":19}"#) == .ignored)
    }

    @Test(
        arguments: [
            (
                #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#,
                Message.cancel(.integer(1), silently: false)
            ),
            (
                #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":[{"id":"a"}]}"#,
                .cancel(.string("a"), silently: false)
            ),
            (#"{"method":"$\/cancelRequest","jsonrpc":"2.0","id":4}"#, .cancel(.integer(4), silently: false)),
            (
                #"{"method":"$/cancelRequest","jsonrpc":"2.0","id":4,"params":null}"#,
                .cancel(.integer(4), silently: false)
            ),
            (
                #"{"jsonrpc":"2.0","id":4,"method":"$/cancelRequest","params":{"id":1}}"#,
                .cancel(.integer(1), silently: false, own: .integer(4))
            ),
            (
                #"{"jsonrpc":"2.0","id":4,"method":"$/cancelRequest","params":{"id":4}}"#,
                .cancel(.integer(4), silently: false)
            ),
            (#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{}}"#, .ignored),
            (#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}"#, .ignored),
            (#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":5}"#, .ignored),
            (
                #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"x"}}"#,
                .cancel(.integer(3), silently: true)
            ),
            (#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#, .ignored),
        ])
    func `every form of cancelling is understood`(_ text: String, _ expected: Message) throws {
        #expect(try message(text) == expected)
    }

    @Test func `batches are sorted item by item, and have limits`() throws {
        let batch = try parsed(#"[{"jsonrpc":"2.0","id":1,"method":"m"},5,[1]]"#)
        guard case .batch(let items) = batch, items.count == 3 else {
            Issue.record("no batch of three")
            return
        }
        #expect(items[0] == .call(id: .integer(1), method: "m", params: .object([:])))
        for item in items[1...] {
            guard case .broken(nil, let error) = item else {
                Issue.record("not refused")
                return
            }
            #expect(error.code == -32600)
        }
        for text in ["[]", "[\(Array(repeating: "5", count: 101).joined(separator: ","))]"] {
            guard case .one(.broken(nil, let error)) = try parsed(text) else {
                Issue.record("not refused")
                return
            }
            #expect(error.code == -32600)
        }
        guard case .batch(let hundred) = try parsed("[\(Array(repeating: "5", count: 100).joined(separator: ","))]")
        else {
            Issue.record("a hundred are allowed")
            return
        }
        #expect(hundred.count == 100)
    }
}
