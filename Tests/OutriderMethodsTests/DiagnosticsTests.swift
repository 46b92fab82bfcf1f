// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct DiagnosticsTests {
    private let peer = ScriptedPeer()
    private let scope = ClientScope.scripted()

    private func call(_ method: String, _ params: String = "{}") async throws -> String {
        let params = try JSONParser.parse(Array(params.utf8))
        let result = try await Call.run(method, params, peer: peer, scope: scope)
        return String(decoding: JSONWriter.bytes(of: result), as: UTF8.self)
    }

    private func complaint(_ method: String, _ params: String) async throws -> String? {
        let error = await #expect(throws: RPCError.self) { _ = try await call(method, params) }
        #expect(error?.code == -32602)
        return error?.data?["pointer"]?.string
    }

    @Test(arguments: [#"{}"#, #"{"b":0.1,"a":[1,null,true,2.0,1e+20],"_meta":{}}"#])
    func `echo returns its parameters as they came`(params: String) async throws {
        #expect(try await call("diagnostics.echo", params) == params)
    }

    @Test(arguments: [#"{"seconds":0}"#, #"{"seconds":0.001}"#, #"{"seconds":0.0}"#])
    func `sleep returns its number as it was written`(params: String) async throws {
        #expect(try await call("diagnostics.sleep", params) == params)
    }

    @Test(arguments: [
        (#"{"seconds":"soon"}"#, "/seconds"), (#"{"secnods":1}"#, "/secnods"), (#"{}"#, "/seconds"),
        (#"{"seconds":-1}"#, "/seconds"), (#"{"seconds":3601}"#, "/seconds"), (#"{"a/b~c":1}"#, "/a~1b~0c"),
    ])
    func `a bad parameter is named`(params: String, pointer: String) async throws {
        #expect(try await complaint("diagnostics.sleep", params) == pointer)
    }

    @Test func `an unknown parameter comes with those that are known, each once`() async throws {
        let error = await #expect(throws: RPCError.self) { _ = try await call("diagnostics.sleep", #"{"a/b":1}"#) }
        #expect(error?.data?["known"] == .array([.string("seconds")]))
    }

    @Test func `fail fails with what it is given`() async throws {
        let params = #"{"code":1600,"message":"m","data":{"a":[1,{"b":null}]}}"#
        let error = await #expect(throws: RPCError.self) { _ = try await call("diagnostics.fail", params) }
        #expect(error == RPCError(code: 1600, "m", data: ["a": .array([.integer(1), .object(["b": .null])])]))
        #expect(try await complaint("diagnostics.fail", #"{"code":1}"#) == "/message")
    }

    @Test func `blob is as long as asked`() async throws {
        #expect(try await call("diagnostics.blob", #"{"bytes":3}"#) == #"{"data":"xxx"}"#)
        #expect(try await complaint("diagnostics.blob", #"{"bytes":8388609}"#) == "/bytes")
    }

    @Test func `notify sends its events before its result`() async throws {
        #expect(try await call("diagnostics.notify", #"{"count":2,"pad":1}"#) == #"{"sent":2}"#)
        #expect(peer.events.map(\.name) == ["diagnostics.tick", "diagnostics.tick"])
        #expect(String(decoding: peer.events[1].params.bytes, as: UTF8.self) == #"{"n":1,"pad":"x"}"#)
    }

    @Test func `callback returns the reply and the id of the callback`() async throws {
        #expect(try await call("diagnostics.callback") == #"{"answer":null,"id":7}"#)
        #expect(try await complaint("diagnostics.callback", #"{"timeout":0.05}"#) == "/timeout")
    }
}
