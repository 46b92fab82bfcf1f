// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The message side channel: a second connection of the client that carries records both ways.
extension WebSocketSource {
    /// Sends the messages of the second connection, until its end.
    func feed(from pipe: any RawPipe) async {
        var scanner = MessageRecordScanner(longest: MessageRecord.longest)
        while true {
            switch await pipe.read() {
            case .bytes(let bytes):
                scanner.feed(bytes)
                do throws(WebSocketFault) {
                    while let record = try scanner.next() { try await take(record, for: pipe) }
                } catch {
                    fail(error)
                    return pipe.ignoreInput()
                }
            // a client that sends nothing more may still receive
            case .end: return
            // the stream, which writes to the same connection, ends the WebSocket
            case .gone: return pipe.abort()
            }
        }
    }

    private func take(_ record: MessageRecordScanner.Record, for pipe: any RawPipe) async throws(WebSocketFault) {
        switch record.kind {
        case .control: return try control(record.payload)
        case .text:
            var text = UTF8Validator()
            guard record.payload.withUnsafeBytes({ text.accept($0) }), text.isComplete else {
                throw WebSocketFault(CloseCode.invalidPayload, "a text record is not UTF-8")
            }
        case .binary: break
        }
        let message = OutgoingMessage(isText: record.kind == .text, bytes: record.payload)
        switch take([message], memory: nil, isPaced: true) {
        case .tooMuch, .noMemory: throw WebSocketFault(CloseCode.policyViolation, "too many bytes wait to be sent")
        case .refused: lostWhileReconnecting()
        // a message for a connection that is over: the last record tells the end
        case nil: _ = try? await room(.seconds(86400))
        }
    }

    /// Tells the client that a message of its own was dropped, unless the WebSocket is over.
    private func lostWhileReconnecting() {
        let isBetween = state.withLock { $0.stage == .reconnecting || $0.stage == .opening }
        guard options.tellsStates, isBetween else { return }
        store(SocketState(kind: .dropped, dropped: 1).record)
    }

    private func control(_ payload: [UInt8]) throws(WebSocketFault) {
        guard let object = try? JSONParser.parse(payload, limits: JSONLimits()).object else {
            throw WebSocketFault(CloseCode.invalidPayload, "a control record is no JSON object")
        }
        if let close = object["close"] {
            let (code, reason) = try Self.closing(close)
            // Ends with the closing handshake.
            _ = state.withLock { $0.exchange }?.attend { _ = try? await self.close(code, reason, wait: .seconds(5)) }
        } else if let text = object["ping"]?.string, let payload = Base64.decode(text), payload.count <= 125 {
            state.withLock { state in
                if state.machine?.phase == .open { writePing(payload, &state) }
            }
            flush()
        } else {
            throw WebSocketFault(CloseCode.invalidPayload, "a control record holds neither close nor ping")
        }
    }

    /// The code and the reason in the `close` of a control record; both may be absent.
    private static func closing(_ close: JSONValue) throws(WebSocketFault) -> (code: Int, reason: String) {
        var code: Int?
        var reason: String?
        if close.object != nil || close.array?.isEmpty == true {
            (code, reason) = (CloseCode.normal, "")
            if let given = close.object?["code"], given != .null { code = given.integer.flatMap { Int(exactly: $0) } }
            if let given = close.object?["reason"], given != .null { reason = given.string }
        }
        guard let code, let reason, CloseCode.isSendable(code), reason.utf8.count <= CloseCode.longestReason else {
            throw WebSocketFault(
                CloseCode.invalidPayload, "a control record closes with a code or reason that cannot be sent")
        }
        return (code, reason)
    }
}
