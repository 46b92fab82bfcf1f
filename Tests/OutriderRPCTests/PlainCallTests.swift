// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

/// A frame as the service reads it.
private func read(_ text: String, _ limits: MessageLimits = MessageLimits()) -> Result<Incoming, JSONFailure> {
    Array(text.utf8).withUnsafeBufferPointer { bytes in
        Result { () throws(JSONFailure) in try Incoming(parsing: bytes, limits: limits) }
    }
}

/// The same by way of its tree.
private func readAsTree(_ text: String, _ limits: MessageLimits = MessageLimits()) -> Result<Incoming, JSONFailure> {
    Result { () throws(JSONFailure) in
        Incoming(try JSONParser.parse(Array(text.utf8), limits: limits.json), limits: limits)
    }
}

private func isRefused(_ result: Result<Incoming, JSONFailure>) -> Bool {
    if case .failure = result { true } else { false }
}

struct PlainCallTests {
    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":7,"method":"data.send","params":{"url":"http://a/","n":[1,2.50,null]}}"#,
        #"{"jsonrpc": "2.0", "id": 7, "method": "data.send", "params": {"url": "http://a/"}}"#,
        #"{"jsonrpc":"2.0","id":0,"method":"m","params":{} }"#,
        #"{"jsonrpc":"2.0","id":999999999999999999,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":9223372036854775807,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":92233720368547758070,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":07,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":-7,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7.0,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7e2,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":"7","method":"m","params":{}}"#,
        #"{"jsonrpc":"2.1","id":7,"method":"m","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"d\u0061ta.send","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"ü","params":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"$/cancelRequest","params":{"id":3}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":[{"a":1}]}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":5}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{},"id":8}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{},"extra":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{}}}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":{}} x"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m","params":}"#,
        #"{"jsonrpc":"2.0","id":7,"method":"m""#, "{", "",
    ])
    func `a call is the same whether its envelope is read by itself or as a tree`(_ text: String) {
        #expect(read(text) == readAsTree(text))
    }

    @Test(arguments: [
        "[]", "[ ]", "[CALL]", "[CALL,CALL]", "[CALL, CALL]", "[ CALL,CALL ]", "[CALL,\nCALL]", "[CALL,CALL]x",
        "[CALL,]",
        "[CALL CALL]", "[CALL,CALL", "CALL,CALL]", "[[CALL]]", "[CALL,5]", "[CALL,{}]", "[CALL,NOTE]", "[CALL,CALL]]",
        "[CALL}]",
    ])
    func `a batch is the same whether its calls are read one by one or as a tree`(_ form: String) {
        let params = [
            #"{"url":"http://a/","n":[1,2.50,null]}"#, #"{"a":{"b":"}\"{","c":[{}]}}"#, "{}", #"{"a":"\\"}"#,
            #"{"a":"\\\""}"#,
            #"{"a":1,"a":2}"#, #"{"a":}"#, #"{"a":"}"#, #"{"a":[}"#, #"{"a":{}"#, #"{"a":1}}"#, #"{"a":"\"}"#,
            "{\u{1}}", "[{}]", "5",
        ]
        for (index, value) in params.enumerated() {
            let text =
                form
                .replacing("CALL", with: #"{"jsonrpc":"2.0","id":\#(index),"method":"data.send","params":\#(value)}"#)
                .replacing("NOTE", with: #"{"jsonrpc":"2.0","method":"m","params":{}}"#)
            #expect(read(text) == readAsTree(text), "\(text)")
        }
    }

    @Test func `the brackets of a batch count towards the limit of depth, and calls towards that of a batch`() {
        func batch(_ params: String) -> String {
            let call = #"{"jsonrpc":"2.0","id":1,"method":"m","params":\#(params)}"#
            return "[\(call),\(call)]"
        }
        var limits = MessageLimits()
        limits.json.depth = 4
        #expect(!isRefused(read(batch(#"{"a":[]}"#), limits)))
        #expect(isRefused(read(batch(#"{"a":[[]]}"#), limits)))
        limits = MessageLimits()
        limits.batchItems = 1
        #expect(read(batch("{}"), limits) == readAsTree(batch("{}"), limits))
        limits = MessageLimits()
        // the array, then the tokens of two calls
        limits.json.tokens = 23
        #expect(read(batch(#"{"a":1}"#), limits) == readAsTree(batch(#"{"a":1}"#), limits))
        limits.json.tokens = 22
        #expect(isRefused(read(batch(#"{"a":1}"#), limits)))
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":7,"method":"data.send","params":{"url":"http://a/"}}"#,
        #"[{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"\\\"}"}},{"jsonrpc":"2.0","id":8,"method":"m","params":{}}]"#,
    ])
    func `what was cut off anywhere is refused as it is in a tree`(_ text: String) {
        for length in 0..<text.utf8.count {
            let cut = String(decoding: text.utf8.prefix(length), as: UTF8.self)
            #expect(isRefused(read(cut)), "\(cut)")
            #expect(read(cut) == readAsTree(cut), "\(cut)")
        }
    }

    @Test(arguments: ["", " ", "  "])
    func `the envelope counts towards the limits of depth and values`(_ space: String) {
        func call(_ params: String) -> String {
            #"{"jsonrpc":\#(space)"2.0","id":7,"method":"m","params":\#(params)}"#
        }
        var limits = MessageLimits()
        limits.json.depth = 3
        #expect(!isRefused(read(call(#"{"a":[]}"#), limits)))
        #expect(isRefused(read(call(#"{"a":[[]]}"#), limits)))
        limits = MessageLimits()
        // outside are an object, four names and three values; then the object of the parameters, a name and a value
        limits.json.tokens = 11
        #expect(!isRefused(read(call(#"{"a":1}"#), limits)))
        limits.json.tokens = 10
        #expect(isRefused(read(call(#"{"a":1}"#), limits)))
        #expect(read(call(#"{"a":1}"#), limits) == readAsTree(call(#"{"a":1}"#), limits))
    }
}
