// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The answer to a request, and its body as it comes: nothing of it waits for the rest.
struct StreamedBody {
    /// Bytes asked for at once; base64 makes it a third more.
    private static let pieceBytes: Int64 = 1 << 20
    /// Seconds that one call waits for bytes; the request has limits of its own.
    private static let patience: Int64 = 60

    /// The Response, without its body.
    let response: JSONObject
    private let request: JSONValue
    private let stream: JSONValue
    private var isOver = false
    /// Why it ended early.
    private var failure: CommandFailure?

    /// Sends the request, and waits for the head of its answer, or its failure.
    init(
        _ request: JSONObject, over client: inout ServiceClient, by deadline: Deadline,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var params = request
        params["wait"] = .string("response")
        let opened = try client.object("stream.open", params, by: deadline, onEvent: onEvent)
        guard let response = opened["response"]?.object, let request = opened["request"],
            let stream = opened["stream"]
        else {
            throw CommandFailure(.brokeProtocol, "the answer is no response")
        }
        self.response = response
        self.request = request
        self.stream = stream
    }

    var status: Int64 { response["status"]?.integer ?? 0 }

    var contentType: String? {
        response["headers"]?.array?.first { $0.object?["name"]?.string?.lowercased() == "content-type" }?
            .object?["value"]?.string
    }

    /// The next bytes; none while there are none yet, nil at the end. Throws the failure that ended it early.
    mutating func next(
        over client: inout ServiceClient, by deadline: Deadline, onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> [UInt8]? {
        if isOver {
            if let failure { throw failure }
            return nil
        }
        let params: JSONObject = [
            "stream": stream, "bytes": .integer(Self.pieceBytes), "wait": .integer(Self.patience),
        ]
        let piece = try client.object("stream.read", params, by: deadline, onEvent: onEvent)
        guard let bytes = piece["base64"]?.string.flatMap({ Base64.decode($0) }) else {
            throw CommandFailure(.brokeProtocol, "the answer to stream.read holds no bytes")
        }
        isOver = piece["end"] == .bool(true)
        failure = piece["error"]?.object.map { CommandFailure(response: $0) }
        return bytes
    }

    /// The Response once all is over, with its metrics. All events have been heard by then: the last byte may come before them.
    func settled(
        over client: inout ServiceClient, by deadline: Deadline, onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> JSONObject {
        try client.object(
            "request.wait", ["request": request, "timeout": .integer(10)], by: deadline, onEvent: onEvent)
    }
}
