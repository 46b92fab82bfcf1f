// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The response to a request, and the calls that fetch its body piece by piece.
struct StreamedBody {
    /// Seconds that a call waits for bytes; the request has limits of its own.
    private static let patience: Int64 = 60

    /// The Response, without its body.
    let response: JSONObject
    private let request: JSONValue
    private let stream: JSONValue
    /// The service has sent all bytes.
    private(set) var isOver = false
    /// Why the body ended early.
    private(set) var failure: CommandFailure?

    /// The call that sends a request, and whose result comes with the head of the response or the failure.
    static func opening(_ request: JSONObject) -> ServiceClient.Order {
        var params = request
        params["wait"] = .string("response")
        return ServiceClient.Order(method: "stream.open", params: params)
    }

    /// - Parameter opened: the result of that call.
    init(opened: JSONObject) throws(CommandFailure) {
        guard let response = opened["response"]?.object, let request = opened["request"],
            let stream = opened["stream"]
        else {
            throw CommandFailure(.brokeProtocol, "the result is no response")
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

    /// Whether the Content-Type is JSON, or built on JSON (RFC 6839).
    var isJSON: Bool {
        let type = (contentType ?? "").prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// The call for the next bytes.
    func reading(_ bytes: Int64) -> ServiceClient.Order {
        ServiceClient.Order(
            method: "stream.read",
            params: ["stream": stream, "bytes": .integer(bytes), "wait": .integer(Self.patience)])
    }

    /// The bytes of its result.
    mutating func bytes(_ piece: JSONObject) throws(CommandFailure) -> [UInt8] {
        guard let bytes = piece["base64"]?.string.flatMap({ Base64.decode($0) }) else {
            throw CommandFailure(.brokeProtocol, "the result of stream.read holds no bytes")
        }
        isOver = piece["end"] == .bool(true)
        failure = piece["error"]?.object.map { CommandFailure(response: $0) }
        return bytes
    }

    /// The call that makes a connection carry the rest as bytes.
    var attaching: ServiceClient.Order { ServiceClient.Order(method: "stream.attach", params: ["stream": stream]) }

    /// The call that gives the rest of the body up.
    var closing: ServiceClient.Order { ServiceClient.Order(method: "stream.close", params: ["stream": stream]) }

    /// The call for the Response with its metrics. All events have been received by its result: the last byte may come before them.
    var settling: ServiceClient.Order {
        ServiceClient.Order(method: "request.wait", params: ["request": request, "timeout": .integer(10)])
    }
}
