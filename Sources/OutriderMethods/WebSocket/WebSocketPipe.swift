// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The message side channel: a second connection of the client that carries records both ways.
extension WebSocketSource {
    /// Seconds that a long record waits for memory, as long as a message does by default.
    private static let patience = 30.0
    /// Seconds after which a record beyond the budget lets another message exceed the budget.
    private static let haste = 10.0

    /// Sends the messages of the second connection, until its end.
    func feed(from pipe: any RawPipe) async {
        var scanner = MessageRecordScanner(longest: MessageRecord.longest)
        // of a long record, from its head on
        var memory: MemoryCharge?
        while true {
            switch await pipe.read() {
            case .bytes(let bytes):
                scanner.feed(bytes)
                do throws(WebSocketFault) {
                    while let (_, length) = try scanner.head() {
                        if length > MemoryBudget.counted, memory == nil {
                            memory = try await room(forRecord: length)
                        }
                        guard let record = try scanner.next() else { break }
                        try await take(record, memory.take())
                    }
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

    /// Waits for the memory of a long record. The client is held up meanwhile.
    private func room(forRecord bytes: Int) async throws(WebSocketFault) -> MemoryCharge? {
        guard let quota = state.withLock({ $0.exchange })?.quota else { return nil }
        guard let charge = await quota.room(bytes, seconds: Self.patience, mayExceed: true) else {
            quota.budget.countRefusal()
            throw WebSocketFault(
                CloseCode.policyViolation,
                "the memory of the service has no room for a record of \(bytes) bytes (raise --memory)")
        }
        if charge.isBeyond {
            // Ends after some seconds.
            Task { [weak charge] in
                try? await Task.sleep(for: .seconds(Self.haste))
                charge?.giveWay()
            }
        }
        return charge
    }

    /// - Parameter memory: of a long record, until the kernel has its message.
    private func take(
        _ record: MessageRecordScanner.Record, _ memory: MemoryCharge?
    ) async throws(WebSocketFault) {
        switch record.kind {
        case .control:
            try control(record.payload)
            // many pings to a server that reads nothing
            _ = try? await room(.seconds(86400))
            return
        case .text:
            var text = UTF8Validator()
            guard record.payload.withUnsafeBytes({ text.accept($0) }), text.isComplete else {
                throw WebSocketFault(CloseCode.invalidPayload, "a text record is not UTF-8")
            }
        case .binary: break
        }
        let message = OutgoingMessage(isText: record.kind == .text, bytes: record.payload)
        switch take([message], memory: memory, isPaced: true) {
        case .tooMuch, .noMemory: throw WebSocketFault(CloseCode.policyViolation, "too many bytes wait to be sent")
        case .refused: lostWhileReconnecting()
        // a message for a connection that is over: the last record tells the end
        case nil: _ = try? await room(.seconds(86400))
        }
    }

    /// Tells the client that a message of its own was dropped, unless the WebSocket is over.
    private func lostWhileReconnecting() {
        let isDue = state.withLock { state in
            guard options.tellsStates, state.stage == .reconnecting || state.stage == .opening else { return false }
            // a report goes before the records that wait, which stay few
            if state.backlog.count > 0 { state.backlog.dropped += 1 }
            return state.backlog.count == 0
        }
        if isDue { store(SocketState(kind: .dropped, dropped: 1).record) }
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
