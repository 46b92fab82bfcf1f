// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderRPC

@Suite struct SecretMembersTests {
    private static let members = SecretMembers(
        methods: ["keep": ["/secret", "/token/refresh"]], results: ["/passphrase", "/token/access"])

    private static func found(_ text: String) -> [String] {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBufferPointer { bytes in
            members.ranges(in: bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
        }
    }

    private static func mayBe(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            members.mayBe(in: bytes, PlainFrame(bytes, limits: MessageLimits()))
        }
    }

    @Test(arguments: [
        (#"{"jsonrpc":"2.0","id":1,"method":"keep","params":{"secret":"s","other":"o"}}"#, ["s"]),
        (#"{"jsonrpc":"2.0","id":1,"method":"keep","params":[{"secret":"s"}]}"#, ["s"]),
        (#"{"params":{"token":{"refresh":"r","access":"a"},"secret":"s"},"method":"keep"}"#, ["r", "s"]),
        (#"{"method":"k\u0065ep","params":{"secre\u0074":"\u0073"}}"#, [#"\u0073"#]),
        (#"[{"method":"other","params":{"secret":"o"}},{"method":"keep","params":{"secret":"s"}}]"#, ["s"]),
        (#"{"method":"keep","params":{"secret":["a",{"b":"c"}]}}"#, ["a", "c"]),
        (#"{"method":"keep","method":"keep","params":{"secret":"s"},"params":{"secret":"t"}}"#, ["s", "t"]),
        (#"{"method":"keep","params":{"secret":5}}"#, []),
        (#"{"method":"keep","params":{"token":"t","nested":{"secret":"n"}}}"#, []),
        (#"{"id":1,"result":{"passphrase":"p","token":{"access":"a","refresh":"r"}}}"#, ["p", "a"]),
    ])
    func `marked members are found however the message is written`(text: String, secrets: [String]) {
        #expect(Self.found(text) == secrets)
        #expect(Self.mayBe(text))
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"other","params":{"secret":"o"}}"#,
        #"{"method":"other","params":{"secret":"o"}}"#, #"[{"id":1,"result":{"value":"v"}},{"method":"other"}]"#,
        #"{"id":1,"result":"passphrase"}"#, #"{"id":1,"error":{"passphrase":"p"}}"#, "[]", "{}", "7",
    ])
    func `messages without marked members are left alone`(text: String) {
        #expect(Self.found(text).isEmpty)
        #expect(!Self.mayBe(text))
    }

    @Test(arguments: [
        #"{"method":"other","params":{"secret":"o"}"#, #"{"method":"other"}}"#, #"{method:"keep"}"#, "", "[{]",
        #"{"method":"other"} {"method":"keep","params":{"secret":"s"}}"#,
    ])
    func `a text that is no message may hold secrets`(text: String) {
        #expect(Self.mayBe(text))
    }

    @Test func `arrays inside each other are looked into as far as messages have them`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(Self.mayBe(#"{"method":"keep","params":\#(deep)"#))
        #expect(Self.found(#"{"method":"keep","params":[[{"secret":"s"}]]}"#) == ["s"])
    }

    @Test(arguments: [
        (#"{"jsonrpc":"2.0","id":1,"method":"other","par"#, false),
        (#"{"jsonrpc":"2.0","id":1,"method":"keep","par"#, true), (#"{"jsonrpc":"2.0","id":1,"meth"#, true),
        (#"[{"jsonrpc":"2.0","id":1,"method":"other","#, true), ("Content-Length: 10", true),
    ])
    func `the beginning of a call tells its method`(text: String, may: Bool) {
        let bytes = Array(text.utf8)
        #expect(
            bytes.withUnsafeBufferPointer { Self.members.mayBe(inStart: $0, limits: MessageLimits()) } == may)
    }

    @Test func `a message is the same but for its secrets`() throws {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"keep","params":{"secret":"s\n","n":[1.50,"x"]}}"#
        let incoming = try Array(text.utf8).withUnsafeBufferPointer { bytes throws(JSONFailure) in
            try Incoming(parsing: bytes, with: Self.members)
        }
        let params: JSONObject = ["secret": .secret(Secret("s\n")), "n": .array([.written("1.50"), .string("x")])]
        #expect(incoming == .one(.call(id: .integer(1), method: "keep", params: .object(params))))
    }
}
