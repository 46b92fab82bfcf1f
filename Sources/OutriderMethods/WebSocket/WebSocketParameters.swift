// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Compression of a WebSocket: true, false, or an object with options.
struct CompressionParameter: JSONDecodable {
    var offer: DeflateOffer?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            offer = flag ? DeflateOffer() : nil
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint(
                "must be true, false or an object of window, takeover and threshold, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        var offer = DeflateOffer()
        if let window = try fields.integer("window", in: 9...15) { offer.window = window }
        if let takeover: Bool = try fields.optional("takeover") { offer.takeover = takeover }
        if let threshold = try fields.integer("threshold", in: 0...67_108_864) { offer.threshold = threshold }
        try fields.finish()
        self.offer = offer
    }
}

/// Pings that keep a WebSocket alive: false, or an object with an interval.
struct KeepAliveParameter: JSONDecodable {
    var settings: KeepAlive.Settings?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            settings = flag ? KeepAlive.Settings() : nil
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object of interval and timeout, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        var settings = KeepAlive.Settings()
        if let interval = try fields.number("interval", in: 0.05...86400) { settings.interval = interval }
        if let timeout = try fields.number("timeout", in: 0.05...86400) { settings.timeout = timeout }
        try fields.finish()
        self.settings = settings
    }
}

/// Whether to reopen a WebSocket: true, false, or an object with options.
struct SocketReconnectParameter: JSONDecodable {
    var policy = WebSocketReconnect.Policy()

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            policy.isEnabled = flag
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        policy.isEnabled = try fields.optional("enabled") ?? true
        if let delay = try fields.number("delay", in: 0...86400) { policy.delay = delay }
        if let longest = try fields.number("maxDelay", in: 0...86400) { policy.longest = longest }
        policy.max = try fields.integer("max", in: 1...1_000_000_000)
        let codes: [Int] = try fields.optional("codes") { $0.count > 64 ? "must hold at most 64 codes" : nil } ?? []
        if let index = codes.firstIndex(where: { $0 != CloseCode.lost && !CloseCode.isSendable($0) }) {
            throw JSONComplaint("must be a close code, such as 4000").under(index: index).under(member: "codes")
        }
        policy.codes = Set(codes)
        policy.initial = try fields.optional("initial") ?? false
        try fields.finish()
    }
}

/// A message: exactly one of `text`, `base64` and `json`.
struct MessageParameter: JSONDecodable {
    var message: OutgoingMessage

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let found = try Self.read(&fields)
        try fields.finish()
        guard let message = found else {
            throw JSONComplaint("a message needs exactly one of text, base64 and json")
        }
        self.message = message
    }

    /// The message among other members; nil if there is none.
    static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> OutgoingMessage? {
        let text: String? = try fields.optional("text")
        let base64: String? = try fields.optional("base64")
        let value = fields.value("json")
        switch (text, base64, value) {
        case (.some(let text), nil, nil): return OutgoingMessage(isText: true, bytes: Array(text.utf8))
        case (nil, .some(let base64), nil):
            return OutgoingMessage(isText: false, bytes: try Base64Parameter.bytes(base64))
        case (nil, nil, .some(let value)): return OutgoingMessage(isText: true, bytes: JSONWriter.bytes(of: value))
        case (nil, nil, nil): return nil
        default: throw JSONComplaint("text, base64 and json exclude each other: give exactly one")
        }
    }
}
