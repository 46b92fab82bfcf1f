// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct ShapeTests {
    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00.000Z"),
        (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
        (1_709_251_199, 999_999_999, "2024-02-29T23:59:59.999Z"),
        (1_893_456_000, 1_000_000, "2030-01-01T00:00:00.001Z"),
        (4_107_542_399, 0, "2100-02-28T23:59:59.000Z"),
        (-1, 0, "1969-12-31T23:59:59.000Z"),
        (-62_135_596_800, 0, "0001-01-01T00:00:00.000Z"),
    ]) func `moments are written as RFC 3339`(seconds: Int, nanoseconds: Int, text: String) {
        #expect(TimeShape(WallTime(seconds: seconds, nanoseconds: nanoseconds)).description == text)
    }

    private static func complaint(_ text: String) -> JSONComplaint? {
        #expect(throws: JSONComplaint.self) {
            try RequestParameters(json: JSONParser.parse(Array(text.utf8)))
        }
    }

    @Test(arguments: [
        (#"{}"#, "/url"),
        (#"{"url":1}"#, "/url"),
        (#"{"url":"x","headers":{"a":{}}}"#, "/headers/a"),
        (#"{"url":"x","headers":[{"name":"a"}]}"#, "/headers/0/value"),
        (#"{"url":"x","headers":[{"name":"a","value":"b","c":1}]}"#, "/headers/0/c"),
        (#"{"url":"x","query":{"a":[null]}}"#, "/query/a/0"),
        (#"{"url":"x","body":{"text":"a","file":"/b"}}"#, "/body"),
        (#"{"url":"x","body":{"base64":"a b"}}"#, "/body/base64"),
        (#"{"url":"x","body":{"json":1,"charset":"utf-8"}}"#, "/body/charset"),
        (#"{"url":"x","timeout":{"idle":1e9}}"#, "/timeout/idle"),
        (#"{"url":"x","timeout":"soon"}"#, "/timeout"),
        (#"{"url":"x","serialize":{"as":7}}"#, "/serialize/as"),
        (#"{"url":"x","events":"all"}"#, "/events"),
        (#"{"url":"x","events":["all"]}"#, "/events/0"),
        (#"{"url":"x","Method":"GET"}"#, "/Method"),
    ]) func `a wrong parameter is named by its pointer`(text: String, pointer: String) {
        #expect(Self.complaint(text)?.pointer.description == pointer)
    }

    @Test func `an unknown parameter tells the known ones`() {
        #expect(Self.complaint(#"{"url":"x","heders":{}}"#)?.known?.contains("headers") == true)
    }

    @Test(arguments: [
        (#"{"json":{}}"#, #"unknown parameter json (write body: {"json": …})"#),
        (#"{"allow_redirects":true}"#, #"(write redirect: "follow", "none" or {"max": 5})"#),
        (#"{"maxRedirects":3}"#, #"(write redirect: "follow", "none" or {"max": 5})"#),
        (#"{"rejectUnauthorized":false}"#, #"(write trust: "none" to accept any certificate)"#),
        (#"{"retries":3}"#, #"(write retry: {"limit": 3})"#),
        (#"{"as":"json"}"#, #"(write serialize: {"as": "json"})"#),
        (#"{"ulr":"x"}"#, "(did you mean url?)"), (#"{"heders":{}}"#, "(did you mean headers?)"),
        (#"{"ca":"x"}"#, "unknown parameter ca"),
        (#"{"body":"x"}"#, #"body must be an object, not a string (such as {"text": …})"#),
        (#"{"body":{"id":1}}"#, #"body has no member id (a JSON body is {"json": …})"#),
        (#"{"headers":[["a","b"]]}"#, #"headers[0] must be an object, not an array (write {"name": …, "value": …})"#),
        (#"{"body":{"form":[["a","b"]]}}"#, #"must be an object, not an array (write {"name": …, "value": …})"#),
    ]) func `an error shows how a habit of other clients is written here`(text: String, message: String) throws {
        let whole = #"{"url":"x","# + text.dropFirst()
        let complaint = try #require(Self.complaint(whole))
        #expect(RPCError(complaint).message.hasSuffix(message), "\(RPCError(complaint).message)")
    }

    @Test func `null is the same as absent, and empty lists are empty objects`() throws {
        let text = #"{"url":"x","method":null,"headers":[],"query":[],"timeout":null,"events":{},"body":null}"#
        let params = try RequestParameters(json: JSONParser.parse(Array(text.utf8)))
        #expect(params.spec.method == "GET")
        #expect(params.spec.fields.list.isEmpty)
        #expect(params.events.isEmpty)
        #expect(params.spec.body.isNone)
    }

    @Test func `fields keep their order in either form`() throws {
        let forms = [
            #"{"url":"x","headers":{"B":["1","2"],"a":"3"}}"#,
            #"{"url":"x","headers":[{"name":"B","value":"1"},{"name":"B","value":"2"},{"name":"a","value":"3"}]}"#,
        ]
        for text in forms {
            let fields = try RequestParameters(json: JSONParser.parse(Array(text.utf8))).spec.fields
            #expect(fields.list.map { "\($0.name)=\($0.value)" } == ["B=1", "B=2", "a=3"])
        }
    }

    @Test func `a plain number is the total time, and the rest keeps its defaults`() throws {
        let text = #"{"url":"x","timeout":3}"#
        var params = try RequestParameters(json: JSONParser.parse(Array(text.utf8)))
        var settings = EngineSettings()
        settings.timeouts.connect = 7
        let group = MultiThreadedEventLoopGroup.singleton
        let engine = Engine(transport: SilentTransport(), group: group, settings: settings)
        try params.complete(with: engine, inline: nil)
        let timeouts = params.spec.timeouts
        #expect(timeouts.total == 3)
        #expect(timeouts.connect == 7)
    }

    @Test func `a failure without a parameter at fault is no bug if the call may succeed later`() {
        let busy = HTTPFailure(.sessionTaskFailed, "too much work waits", retryable: true)
        #expect(RPCError(busy).code == -32011 && RPCError(busy).data?["what"] == .string("work"))
        #expect(RPCError(busy, at: "/path").code == -32602)
        #expect(RPCError(HTTPFailure(.sessionTaskFailed, "why?")).code == -32603)
        let closed = RPCError.wrongState(busy, "closed")
        #expect(closed.code == -32013 && closed.data?["what"] == nil && closed.data?["state"] == .string("closed"))
    }

    @Test func `every failure has a code of its own`() {
        let codes = HTTPFailure.Kind.allCases.map(\.failureCode.code)
        #expect(Set(codes).count == codes.count)
    }
}
