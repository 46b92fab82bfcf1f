// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How streams, and the connection, end.
extension HTTP2Machine {
    /// Credits consumed bytes of a stream.
    mutating func take(_ bytes: Int, of id: HTTP2StreamID) {
        let reserve = reserve
        let increment = streams.change(id) { $0.isOver ? 0 : $0.receive.take(bytes, reserve) } ?? 0
        if increment > 0, streams[id]?.remote != .closed { writer.windowUpdate(increment, stream: id.number) }
    }

    /// Writes RST_STREAM, and remembers which frames may still arrive for the stream.
    mutating func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let stream = streams[id] else { return }
        writer.reset(id.number, code)
        forgotten.add(id.number, window: stream.receive.left)
        if resets.add(now: now), phase == .running {
            phase = .draining
            noteCapacity()
        }
    }

    /// Ends a stream: with its last event, or silently.
    mutating func end(_ id: HTTP2StreamID, _ event: HTTP2Event? = nil) {
        guard let stream = streams[id], !stream.isOver else { return }
        openStreams -= 1
        _ = streams.change(id) { $0.isOver = true }
        if let event, stream.dropsUntil == nil { emit(event) } else { release(id) }
        closeIfDone()
    }

    /// Frees the slot of an ended stream.
    mutating func release(_ id: HTTP2StreamID) {
        if let stream = streams[id], stream.isOver, streams.remove(id) != nil { reserve.giveBack(stream.receive.grown) }
    }

    /// The response is whole.
    mutating func finish(_ id: HTTP2StreamID, trailers: HTTPFields) {
        guard let stream = streams[id] else { return }
        if let declared = stream.declared, !stream.hasNoBody, stream.got != declared {
            // so haproxy, lighttpd and Varnish pass on that their own server was lost
            return refuse(id, "ends after \(stream.got) bytes of \(declared)", .connectionLost)
        }
        _ = streams.change(id) { $0.remote = .closed }
        // few servers respond in whole before they have read a body; the rest of a body under way is not needed
        if stream.localClosed { liveness.reached(stream.ahead) } else { reset(id, .noError) }
        end(id, .ended(id, trailers: trailers))
    }

    /// The response is malformed: only its stream ends (RFC 9113 section 8.1.1).
    mutating func refuse(_ id: HTTP2StreamID, _ what: String, _ kind: HTTPFailure.Kind = .malformedResponse) {
        guard let stream = streams[id], !stream.isOver else { return }
        reset(id, kind == .limitExceeded ? .enhanceYourCalm : .protocolError)
        let phase = stream.remote == .body ? HTTPFailure.Phase.response : .firstByte
        let failure = HTTPFailure(kind, "the server's response \(what)", phase: phase, sent: .sent)
        end(id, .broke(id, .failed(failure)))
    }

    /// The peer broke a rule of the connection, or a limit: every stream fails.
    mutating func fail(_ fault: HTTP2Fault) {
        guard !isClosed else { return }
        phase = .closed
        writer.goAway(last: 0, fault.code)
        var kind: HTTPFailure.Kind = fault.code == .enhanceYourCalm ? .limitExceeded : .malformedResponse
        var what = "the server broke a rule of HTTP/2: \(fault.text)"
        if fault.isOtherProtocol {
            kind = .protocolNotNegotiated
            let demand = isAgreed ? "to which it agreed in the TLS handshake" : "which httpVersion asks for"
            let remedy = isAgreed ? "use httpVersion \"1.1\"" : "use httpVersion \"auto\" or \"1.1\""
            what = "the server does not speak HTTP/2, \(demand): \(fault.text) (\(remedy))"
        }
        let underlying = HTTPFailure.Underlying(.http2, Int(fault.code.rawValue), fault.described)  // safe: 32 bits
        for id in streams.ids {
            guard let stream = streams[id] else { continue }
            let failure = HTTPFailure(
                kind, what, phase: stream.remote == .body ? .response : .firstByte,
                sent: stream.hasHeard ? .sent : .maybeSent,
                underlying: underlying)
            end(id, .broke(id, .failed(failure)))
        }
        emit(.close(fault))
    }

    /// Ends a lost connection.
    ///
    /// - Parameter replayable: whether its requests may be sent again if they are the first of the connection.
    mutating func lose(_ fault: HTTP2Fault?, replayable: Bool) {
        phase = .closed
        for id in streams.ids {
            guard let stream = streams[id] else { continue }
            end(id, .broke(id, .lost(fault, stream.progress(replayable: replayable || id.number > 1))))
        }
        emit(.close(fault))
    }

    /// Handles a frame for a stream that is not open. Frames in flight when the stream was reset are expected; others
    /// are waste.
    mutating func lateFrame(_ number: UInt32, bytes: Int) {
        if !forgotten.expects(number, bytes: bytes) { waste() }
    }

    /// Counts a frame without content.
    mutating func waste() {
        if !budget.spend(now: now) {
            fail(HTTP2Fault(.enhanceYourCalm, "more frames that carry nothing than are reasonable"))
        }
    }
}
