// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

/// Calls that succeed although the client has cancelled them without a reply: nothing names what they have made.
struct UnwantedResultTests {
    private static let url: JSONObject = ["url": .string("http://a.test/x")]
    private static let stored: JSONObject = ["url": .string("http://a.test/x"), "bodyTo": .string("stored")]
    private static let detached: JSONObject = [
        "url": .string("http://a.test/x"), "detach": .bool(true), "name": .string("mine"),
    ]

    /// The numbers of requests, streams, bodies and sessions that the client has after the call, as soon as they are as
    /// expected.
    private func left(
        _ method: String, _ params: JSONObject, isUnwanted: Bool, expecting expected: [Int]
    ) async throws -> [Int] {
        let stage = RequestStage(CannedTransport(body: [UInt8](repeating: 0x61, count: 100)))
        let handles = stage.scope.handles
        _ = try await Call.run(
            method, .object(params), peer: stage.peer, scope: stage.scope, isUnwanted: isUnwanted)
        var counts: [Int] = []
        let deadline = ContinuousClock.now + .seconds(10)
        repeat {
            counts = [
                handles.all(RequestRecord.self).count, handles.all(ReadStream.self).count,
                handles.all(StoredResponse.self).count, handles.all(SessionRecord.self).count,
            ]
            if counts == expected { break }
            try await Task.sleep(for: .milliseconds(5))
        } while ContinuousClock.now < deadline
        return counts
    }

    /// Methods with what the client has after their result, and without the result.
    private static let cases: [(String, JSONObject, [Int], [Int])] = [
        ("data.start", url, [1, 0, 0, 0], [0, 0, 0, 0]), ("stream.open", url, [1, 1, 0, 0], [0, 0, 0, 0]),
        ("session.create", JSONObject(), [0, 0, 0, 1], [0, 0, 0, 0]),
        // the client may ask for the request of a call, whose body is gone
        ("data.send", stored, [1, 0, 1, 0], [1, 0, 0, 0]),
    ]

    @Test(arguments: cases)
    func `nothing stays that only the result names`(
        _ method: String, _ params: JSONObject, _ wanted: [Int], _ unwanted: [Int]
    ) async throws {
        #expect(try await left(method, params, isUnwanted: false, expecting: wanted) == wanted)
        #expect(try await left(method, params, isUnwanted: true, expecting: unwanted) == unwanted)
    }

    @Test func `requests of ended calls make room, also where only events name them`() async throws {
        let stage = RequestStage()
        var params = Self.url
        (params["handles"], params["events"]) = (.bool(false), .array([.string("state")]))
        for _ in 1...300 { _ = try await stage.call("data.send", params) }
        #expect(stage.scope.handles.all(RequestRecord.self).count == 256)
    }

    @Test func `a detached request does not end with its call`() async throws {
        let stage = RequestStage()
        _ = try await Call.run(
            "data.start", .object(Self.detached), peer: stage.peer, scope: stage.scope, isUnwanted: true)
        #expect(try await stage.call("request.get", ["request": .string("mine")])["detached"] == .bool(true))
    }
}
