// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderMethods

struct ServerTests {
    private let control = ScriptedControl()

    private func call(
        _ method: String, _ params: JSONObject = [:], peer: ScriptedPeer = ScriptedPeer()
    ) async throws -> JSONObject {
        let scope = ClientScope.scripted(control)
        return try #require(try await Call.run(method, .object(params), peer: peer, scope: scope).object)
    }

    private func error(_ method: String, _ params: JSONObject) async -> RPCError? {
        await #expect(throws: RPCError.self) { _ = try await call(method, params) }
    }

    @Test func `the greeting keeps what the client asked for`() async throws {
        let peer = ScriptedPeer()
        let params: JSONObject = [
            "client": .object(["name": .string("test")]), "callbacks": .array([.string("callback.ask")]),
            "maxMessageBytes": .integer(65536), "progressInterval": .integer(2),
        ]
        let greeting = try await call("server.hello", params, peer: peer)
        #expect(greeting["connection"] == .string("con_0000000000000000"))
        #expect(peer.terms.callbacks == ["callback.ask"])
        #expect(peer.terms.maxMessageBytes == 65536)
        #expect(peer.terms.progressInterval == 2)
        #expect(!peer.terms.rawBodies)
        _ = try await call("server.hello", ["rawBodies": .bool(true)], peer: peer)
        #expect(peer.terms.rawBodies)
        #expect(peer.terms.maxMessageBytes == nil)
        #expect(peer.terms.maxInline == nil)
        _ = try await call("server.hello", ["rawBodies": .bool(true), "maxInline": .integer(3)], peer: peer)
        #expect(peer.terms.maxInline == 3)
    }

    @Test func `a feature that is required and unknown is named`() async {
        let error = await error("server.hello", ["require": .array([.string("events"), .string("timeTravel")])])
        #expect(error?.code == -32015)
        #expect(error?.data == ["pointer": .string("/require/1"), "feature": .string("timeTravel")])
        #expect(error?.message.hasSuffix("(use a newer version, or leave the feature out of require)") == true)
        let misspelt = await self.error("server.hello", ["require": .array([.string("Events")])])
        #expect(misspelt?.message.hasSuffix("(did you mean events?)") == true)
    }

    @Test func `info tells about the connection [A17]`() async throws {
        let info = try await call("server.info")
        #expect(info["version"] == .string("1.2.3"))
        #expect(info["framing"] == .string("line"))
        #expect(info["peer"] == .object(["pid": .integer(4711), "uid": .integer(1000)]))
    }

    @Test func `stop replies first, then stops`() async throws {
        #expect(try await call("server.stop", ["grace": .integer(2)]) == [:])
        #expect(control.stopped.withLock { $0 } == .seconds(2))
    }

    @Test func `setLog returns what was set before`() async throws {
        let before = try await call("server.setLog", ["level": .string("error")])
        #expect(before == ["level": .string("warning"), "to": .string("stderr"), "format": .string("text")])
        #expect(control.log.withLock { $0 } == LogSetting(level: .error, target: .stderr))
    }

    @Test func `a log file needs an absolute path`() async {
        let file: JSONObject = ["level": .string("error"), "to": .string("file")]
        #expect(await error("server.setLog", file)?.data?["pointer"] == .string("/path"))
        var relative = file
        relative["path"] = .string("log")
        #expect(await error("server.setLog", relative)?.data?["pointer"] == .string("/path"))
        #expect(await error("server.setLog", ["level": .string("loud")])?.data?["pointer"] == .string("/level"))
        for target in ["stderr", "events", nil] {
            var other = file
            other["to"] = target.map(JSONValue.string)
            other["path"] = .string("/log")
            #expect(await error("server.setLog", other)?.data?["pointer"] == .string("/to"))
        }
    }

    @Test func `a default of maxInline needs raw bodies`() async {
        for raw in [false, nil] {
            var params: JSONObject = ["maxInline": .integer(3)]
            params["rawBodies"] = raw.map(JSONValue.bool)
            #expect(await error("server.hello", params)?.data?["pointer"] == .string("/rawBodies"))
        }
    }

    @Test func `an editor's process is watched on stdio only`() async throws {
        let params: JSONObject = ["processId": .integer(4711), "rootUri": .null]
        _ = try await call("initialize", params, peer: ScriptedPeer(transport: .socket))
        #expect(control.watched.withLock { $0 } == nil)
        let result = try await call("initialize", params, peer: ScriptedPeer(transport: .stdio))
        #expect(control.watched.withLock { $0 } == 4711)
        #expect(result["serverInfo"]?.object?["name"] == .string("outrider"))
    }

    @Test func `MCP's initialize is refused, and told why`() async {
        let error = await error("initialize", ["protocolVersion": .string("2025-06-18")])
        #expect(error?.code == -32601)
        #expect(error?.message.contains("MCP") == true)
    }
}
