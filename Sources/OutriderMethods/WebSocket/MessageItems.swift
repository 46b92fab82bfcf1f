// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The messages of a WebSocket as items of a stream, out of records (`MessageRecord`).
///
/// A control record about the state of the socket is an item of its own; the final record, for the side channel alone,
/// is left out.
struct MessageItems: ItemScanner {
    /// The form of a message.
    struct Style: Sendable {
        /// A text message is a plain string, in `values`.
        var isCompact = false
        /// A text message that is JSON comes as `value`.
        var parsesJSON = false
    }

    private let style: Style
    private var window = ByteWindow()

    init(_ style: Style) { self.style = style }

    var held: Int { window.count }

    var isContinuous: Bool { false }

    var countsItems: Bool { true }

    var raw: [UInt8]? { Array(window.slice(window.count)) }

    /// Keeps messages of the former connection.
    mutating func begin(contentType: String?) {}

    mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    mutating func end() {}

    mutating func hasNext() -> Bool {
        skip()
        return !window.isEmpty
    }

    mutating func isStateNext() -> Bool {
        skip()
        return head()?.0 == .control
    }

    mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        skip()
        guard let (kind, length) = head() else { return nil }
        let payload = Array(window.slice(length, after: MessageRecord.headBytes))
        window.take(MessageRecord.headBytes + length)
        if kind == .control { return StreamItem(.state(SocketState.members(of: payload)), bytes: 0) }
        let (style, isText) = (style, kind == .text)
        guard length <= StreamItem.mostAtOnce else {
            return StreamItem(.unmade { Self.content(payload, isText: isText, style) }, bytes: length)
        }
        return StreamItem(Self.content(payload, isText: isText, style), bytes: length)
    }

    /// The head of the next record, if the record is complete.
    private func head() -> (MessageRecord.Kind, Int)? {
        guard window.count >= MessageRecord.headBytes else { return nil }
        let (kind, length) = MessageRecord.head(window.slice(MessageRecord.headBytes))
        return kind.map { ($0, length) }
    }

    /// Drops final records.
    private mutating func skip() {
        while let (kind, length) = head(), kind == .control {
            let payload = window.slice(length, after: MessageRecord.headBytes)
            if payload.starts(with: SocketState.prefix) { return }
            window.take(MessageRecord.headBytes + length)
        }
    }

    // MARK: looks

    private static func content(_ payload: [UInt8], isText: Bool, _ style: Style) -> StreamItem.Content {
        // half of the clients' parsers lose or cut a string with U+0000
        guard isText, !payload.contains(0) else { return .members(binary(payload, isText: isText)) }
        if style.parsesJSON, let value = try? JSONText(checking: payload, limits: limits) {
            var writer = JSONWriter(capacity: value.bytes.count &+ 16)
            writer.member("value", value)
            return .members(JSONText(written: writer.bytes))
        }
        let text = JSONText(written: JSONWriter.bytes(ofText: payload))
        if style.isCompact { return .value(text) }
        var writer = JSONWriter(capacity: text.bytes.count &+ 16)
        writer.member("text", text)
        return .members(JSONText(written: writer.bytes))
    }

    private static func binary(_ payload: [UInt8], isText: Bool) -> JSONText {
        var writer = JSONWriter(capacity: payload.count / 3 &* 4 &+ 48)
        payload.withUnsafeBytes { writer.member("base64", base64: $0) }
        if isText { writer.member("isText", true) }
        return JSONText(written: writer.bytes)
    }

    /// Values are passed through; only their depth is limited, for the client's parser.
    private static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.hasLongIntegers = true
        return limits
    }()
}

/// The state of the connection behind a WebSocket, as a control record: `{"socket":{"kind":…}}`.
struct SocketState: ObjectShape {
    enum Kind: String { case open, reconnecting, closing, dropped }

    static let prefix = Array(#"{"socket":{"#.utf8)

    var kind: Kind
    var attempt: Int?
    var subprotocol: String?
    /// Seconds until the next attempt.
    var after: Double?
    var code: Int?
    var reason: String?
    /// Messages that were dropped since the last state.
    var dropped = 0

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind.rawValue)
        writer.member("attempt", attempt)
        writer.member("protocol", subprotocol)
        if let after {
            writer.name("after")
            writer.value(after)
        }
        writer.member("code", code)
        if let reason, !reason.isEmpty { writer.member("reason", reason) }
        if dropped > 0 { writer.member("dropped", dropped) }
    }

    var record: [UInt8] {
        var record: [UInt8] = []
        MessageRecord.append(.control, JSONWriter.bytes(of: Wrapped(state: self)), to: &record)
        return record
    }

    /// The members of the state in the payload of a record.
    static func members(of payload: [UInt8]) -> JSONText {
        JSONText(written: Array(payload.dropFirst(prefix.count).dropLast(2)))
    }

    private struct Wrapped: JSONEncodable {
        var state: SocketState

        func encode(to writer: inout JSONWriter) { writer.object { $0.member("socket", state) } }
    }
}
