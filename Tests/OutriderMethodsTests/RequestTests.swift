// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct RequestTests {
    private static let url: JSONObject = ["url": .string("http://a.test/x"), "handles": .bool(false)]

    private static func params(_ more: JSONObject) -> JSONObject {
        JSONObject(members: url.members + more.members)
    }

    @Test func `a Response is written in the order of the contract, its JSON passed through`() async throws {
        let stage = RequestStage(CannedTransport(body: Array(#"{"b":1.0,"a":12345678901234567890}"#.utf8)))
        #expect(
            try await stage.text("data.send", Self.url)
                == #"{"ok":true,"url":"http://a.test/x","method":"GET","status":200,"#
                + #""headers":[{"name":"Content-Type","value":"application/json"}],"httpVersion":"1.1","#
                + #""body":{"kind":"json","size":34,"contentType":"application/json","#
                + #""json":{"b":1.0,"a":12345678901234567890}},"attempts":1,"redirects":[],"cache":{"status":"bypass"}}"#
        )
    }

    @Test func `a reason that two kinds of failures share names both in a retry policy`() throws {
        let bytes = Array(#"{"errors":["reconnectLimit","timedOut"]}"#.utf8)
        var policy = RetryPolicy()
        policy.kinds = [.eventStreamReconnectLimit, .webSocketReconnectLimit, .timedOut]
        #expect(try RetryParameter(json: JSONParser.parse(bytes)).retriers == [.policy(policy)])
    }

    @Test func `what came of a body that was cut short is there beside the failure`() async throws {
        let lost = HTTPFailure(.connectionLost, "the connection ended early", sent: .sent)
        let stage = RequestStage(CannedTransport(contentType: "text/plain", body: Array("hal".utf8), failure: lost))
        let response = try await stage.call("data.send", Self.url)
        #expect(response["ok"] == .bool(false))
        #expect(response["status"] == .integer(200))
        #expect(response["body"]?.object?["text"] == .string("hal"))
        #expect(response["body"]?.object?["complete"] == .bool(false))
        #expect(response["error"]?.object?["code"] == .integer(1404))
    }

    @Test func `a body that is no JSON fails only where JSON was asked for`() async throws {
        let stage = RequestStage(CannedTransport(body: Array("{".utf8)))
        let auto = try await stage.call("data.send", Self.url)
        #expect(auto["ok"] == .bool(true))
        #expect(auto["body"]?.object?["kind"] == .string("text"))
        #expect(auto["body"]?.object?["note"] != nil)
        let json = try await stage.call("data.send", Self.params(["serialize": .object(["as": .string("json")])]))
        #expect(json["error"]?.object?["code"] == .integer(1704))
        #expect(json["body"]?.object?["text"] == .string("{"))
    }

    @Test func `events of a call carry its id, count from 0, and end with the state`() async throws {
        let stage = RequestStage(CannedTransport(body: [0x31]))
        _ = try await stage.call("data.send", Self.params(["events": .bool(true), "tag": .string("mine")]))
        let events = try stage.peer.events.map { event in
            (event.name, try #require(try JSONParser.parse(event.params.bytes).object))
        }
        #expect(
            events.map { $0.1["state"]?.string ?? $0.0 } == [
                "created", "resumed", "sent", "responded", "event.response", "event.progress", "finished",
            ])
        #expect(events.map { $0.1["seq"]?.integer } == [0, 1, 2, 3, 4, 5, 6])
        #expect(events.allSatisfy { $0.1["call"] == .integer(1) && $0.1["tag"] == .string("mine") })
    }

    @Test func `a started request with listeners waits for the reply that names it`() async throws {
        let stage = RequestStage(CannedTransport(body: [0x31]))
        let params = Self.params(["events": .array([.string("finish")])])
        // without running what comes after the reply
        let text = try await stage.text("data.start", params)
        let handle = try #require(try JSONParser.parse(Array(text.utf8)).object?["request"])
        #expect(stage.peer.events.isEmpty)
        #expect(try await stage.call("request.get", ["request": handle])["state"] == .string("created"))
        #expect(try await stage.call("request.cancel", ["request": handle])["state"] == .string("cancelled"))
        let ended = try await stage.call("request.wait", ["request": handle])
        #expect(ended["error"]?.object?["code"] == .integer(1900))
    }

    @Test func `the result of a started request stays until a call takes it`() async throws {
        let stage = RequestStage(CannedTransport(body: [0x31]))
        let handle = try #require(try await stage.call("data.start", Self.url)["request"])
        for _ in 0..<2 {
            let response = try await stage.call("request.wait", ["request": handle])
            #expect(response["body"]?.object?["json"] == .integer(1))
        }
        #expect(stage.scope.quota.held.memory == 1)
        stage.scope.close()
    }

    @Test func `nothing waits for the end of requests whose client has left, or that were forgotten`() async throws {
        let stage = RequestStage(CannedTransport(contentType: "text/plain", body: [0x31]))
        let expiries = stage.scope.service.engine.expiries
        var handles: [JSONValue] = []
        for _ in 0..<3 {
            let handle = try #require(try await stage.call("data.start", Self.url)["request"])
            _ = try await stage.call("request.wait", ["request": handle])
            handles.append(handle)
        }
        #expect(expiries.count == 3)
        let stored = try await stage.call("data.send", Self.params(["bodyTo": .string("stored")]))
        let body = try #require(stored["body"]?.object?["response"])
        #expect(expiries.count == 4)
        _ = try await stage.call("request.forget", ["request": handles[0]])
        #expect(expiries.count == 3)
        _ = try await stage.call("response.release", ["response": body])
        #expect(expiries.count == 2)
        _ = try await stage.call("data.send", Self.params(["bodyTo": .string("stored")]))
        stage.scope.close()
        #expect(expiries.count == 0)
    }

    @Test func `a client with short messages gets a handle in place of a long body`() async throws {
        let stage = RequestStage(
            CannedTransport(contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 10_000)))
        var terms = PeerTerms()
        terms.maxMessageBytes = 8192
        stage.peer.agree(to: terms)
        let text = try await stage.text("data.send", Self.url)
        #expect(text.utf8.count < 8192)
        let response = try #require(try JSONParser.parse(Array(text.utf8)).object)
        let body = try #require(response["body"]?.object)
        #expect(body["kind"] == .string("stored"))
        let handle = try #require(body["response"])
        let piece = try await stage.call("response.read", ["response": handle, "bytes": .integer(1_000_000)])
        #expect(piece["end"] == .bool(false))
        #expect(try await stage.call("response.release", ["response": handle]) == [:])
        #expect(await stage.error("response.read", ["response": handle])?.code == -32012)
        #expect(stage.scope.quota.held == (0, 0))
    }

    @Test(arguments: [0, 511, 512, 65_535, 65_536, 65_537, 1 << 20])
    func `a client that takes raw bodies gets the bytes beside the result, if they are many`(size: Int) async throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let stage = RequestStage(CannedTransport(contentType: "a/b", body: bytes))
        let params = Self.params(["serialize": .object(["as": .string("base64")])])
        var terms = PeerTerms()
        #expect(try await stage.reply("data.send", params, isAlone: true).raw == nil)
        terms.rawBodies = true
        stage.peer.agree(to: terms)
        #expect(try await stage.reply("data.send", params).raw == nil)
        let reply = try await stage.reply("data.send", params, isAlone: true)
        let body = try #require(try JSONParser.parse(reply.bytes).object?["body"]?.object)
        #expect(body["size"] == .integer(Int64(size)))
        #expect(reply.raw == (size < 512 ? nil : bytes))
        #expect(body["kind"] == .string(size == 0 ? "none" : size < 512 ? "base64" : "raw"))
        #expect((body["base64"] == nil) == (size == 0 || size >= 512))
    }

    @Test func `raw bytes count to the longest message of a client`() async throws {
        let stage = RequestStage(CannedTransport(contentType: "a/b", body: [UInt8](repeating: 0, count: 10_000)))
        var terms = PeerTerms()
        terms.rawBodies = true
        terms.maxMessageBytes = 8192
        stage.peer.agree(to: terms)
        let params = Self.params(["serialize": .object(["as": .string("base64")])])
        let short = try await stage.reply("data.send", params, isAlone: true)
        #expect(short.raw == nil)
        #expect(try JSONParser.parse(short.bytes).object?["body"]?.object?["kind"] == .string("stored"))
        terms.maxMessageBytes = 16_384
        stage.peer.agree(to: terms)
        #expect(try await stage.reply("data.send", params, isAlone: true).raw?.count == 10_000)
    }

    @Test func `events about a request have no raw bytes`() async throws {
        let stage = RequestStage(CannedTransport(contentType: "a/b", body: [UInt8](repeating: 0, count: 100_000)))
        var terms = PeerTerms()
        terms.rawBodies = true
        stage.peer.agree(to: terms)
        let params = Self.params([
            "serialize": .object(["as": .string("base64")]), "events": .array([.string("finish")]),
        ])
        let started = try #require(try await stage.call("data.start", params)["request"])
        let events = await stage.peer.events(1)
        let event = try #require(try JSONParser.parse(events[0].params.bytes).object)
        #expect(events[0].name == "event.finish")
        #expect(events[0].params.raw == nil)
        #expect(event["response"]?.object?["body"]?.object?["kind"] == .string("base64"))
        #expect(try await stage.reply("request.wait", ["request": started], isAlone: true).raw?.count == 100_000)
        #expect(try await stage.reply("request.wait", ["request": started]).raw == nil)
    }

    @Test func `what cannot be sent is a result, but nothing to build`() async throws {
        let stage = RequestStage()
        let bad: JSONObject = ["url": .string("http://127.0.0.1:99999/")]
        let response = try await stage.call("data.send", bad)
        #expect(response["error"]?.object?["code"] == .integer(1100))
        #expect(response["attempts"] == .integer(0))
        let error = await stage.error("request.build", bad)
        #expect(error?.code == -32602)
        #expect(error?.data?["pointer"] == .string("/url"))
    }

    @Test func `a request that was detached outlives its client, but not on stdio`() async throws {
        let stage = RequestStage()
        let handle = try #require(
            try await stage.call("data.start", Self.params(["detach": .bool(true)]))["request"])
        stage.scope.close()
        let other = ClientScope(stage.scope.service, ScriptedControl())
        let found = try await Call.run(
            "request.get", .object(["request": handle]), peer: ScriptedPeer(), scope: other)
        #expect(found.object?["detached"] == .bool(true))
        let refusal = await RequestStage(on: .stdio).error("data.start", Self.params(["detach": .bool(true)]))
        #expect(refusal?.code == -32014)
    }

    @Test func `no connection of another user finds a detached request, by its handle or its name`() async throws {
        let stage = RequestStage()
        let named: JSONObject = ["detach": .bool(true), "name": .string("nightly")]
        let handle = try #require(try await stage.call("data.start", Self.params(named))["request"])
        let same = ClientScope(stage.scope.service, ScriptedControl())
        let other = ClientScope(stage.scope.service, ScriptedControl(), user: 1001)
        for request in [handle, .string("nightly")] {
            for method in ["request.get", "request.adopt", "request.cancel", "request.curl", "request.forget"] {
                await #expect(throws: RPCError.self, "\(method)") {
                    _ = try await Call.run(
                        method, .object(["request": request]), peer: ScriptedPeer(), scope: other)
                }
            }
            let found = try await Call.run(
                "request.get", .object(["request": request]), peer: ScriptedPeer(), scope: same)
            #expect(found.object?["request"] == handle)
        }
    }

    @Test func `a request whose name is taken leaves its session`() async throws {
        let stage = RequestStage()
        let session = try #require(try await stage.call("session.create", [:])["session"])
        let named: JSONObject = ["session": session, "detach": .bool(true), "name": .string("nightly")]
        _ = try await stage.call("data.start", Self.params(named))
        #expect(await stage.error("data.start", Self.params(named))?.data?["state"] == .string("taken"))
        var active: JSONValue?
        for _ in 0..<10_000 where active != .integer(0) {
            try await Task.sleep(for: .milliseconds(1))
            active = try await stage.call("session.get", ["session": session])["requests"]?.object?["active"]
        }
        #expect(active == .integer(0))
    }

    @Test func `the latest requests of calls are remembered, and no more`() async throws {
        let stage = RequestStage()
        var first: JSONValue?
        for _ in 0..<300 {
            let response = try await stage.call("data.send", ["url": .string("http://a.test/")])
            first = first ?? response["request"]
        }
        let list = try await stage.call("request.list", [:])["requests"]?.array
        #expect(list?.count == 256)
        let handle = try #require(first)
        #expect(await stage.error("request.curl", ["request": handle])?.code == -32012)
    }

    @Test func `a request to build shows all that goes on the wire`() async throws {
        let stage = RequestStage()
        let params: JSONObject = [
            "url": .string("http://a.test/x"), "method": .string("POST"), "query": .object(["q": .string("a b")]),
            "body": .object(["json": .object(["id": .integer(1)])]),
        ]
        let built = try await stage.call("request.build", params)
        #expect(built["url"] == .string("http://a.test/x?q=a%20b"))
        let names = built["headers"]?.array?.compactMap { $0.object?["name"]?.string }
        #expect(names == ["Host", "Content-Type", "Content-Length"])
        #expect(built["body"]?.object?["size"] == .integer(8))
        #expect(built["curl"]?.string?.hasPrefix("curl -X POST") == true)
    }
}
