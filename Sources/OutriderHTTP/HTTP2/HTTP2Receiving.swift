// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Input from the peer.
extension HTTP2Machine {
    /// Reads bytes of the connection until an event occurs, and returns the number of bytes read. The caller takes all
    /// events, then passes the rest.
    package mutating func received(_ bytes: UnsafeRawBufferPointer, now: Double) -> Int {
        guard !isClosed else { return bytes.count }
        self.now = now
        if liveness.received(now) { noteCapacity() }
        var position = 0
        while !isClosed {
            switch scanner.next(bytes, from: &position) {
            case .needsMore: return bytes.count
            case .frame(let head, let range): take(head, UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .heldFrame(let head):
                let held = scanner.held
                held.withUnsafeBytes { take(head, $0) }
            case .data(let head, let range, let isFirst, let isLast):
                takeData(head, range, isFirst: isFirst, isLast: isLast)
            case .tooLarge(let head) where awaitsSettings != nil && Self.isText(head.length):
                fail(head.length == Self.lengthOfHTTP1 ? .speaksHTTP1 : .sendsText)
            case .tooLarge(let head):
                fail(HTTP2Fault(.frameSizeError, "a frame of \(head.length) bytes, and 16384 are allowed"))
            case .badPadding: fail(HTTP2Fault(.protocolError, "more padding than payload"))
            }
            if hasEvents { return isClosed ? bytes.count : position }
        }
        return bytes.count
    }

    /// "HTT", read as the length of a frame.
    private static let lengthOfHTTP1 = 0x485454

    /// Whether the three bytes of a length are printable.
    private static func isText(_ length: Int) -> Bool {
        [length >> 16, length >> 8, length].allSatisfy { (0x20...0x7E).contains($0 & 0xFF) }
    }

    private mutating func take(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        if let fault = fault(of: head) { return fail(fault) }
        switch head.kind {
        case .headers: takeHeaders(head, payload)
        case .continuation: takeContinuation(head, payload)
        case .settings: takeSettings(head, payload)
        case .ping: takePing(head, payload)
        case .goAway: takeGoAway(payload)
        case .windowUpdate: takeWindowUpdate(head, payload)
        case .resetStream: takeReset(head, payload)
        case .pushPromise: fail(HTTP2Fault(.protocolError, "PUSH_PROMISE, although pushing is switched off"))
        default: waste()
        }
    }

    /// The fault of a frame's head, regardless of its payload (RFC 9113 sections 3.4, 5.1, 6).
    private func fault(of head: HTTP2FrameHead) -> HTTP2Fault? {
        if awaitsSettings != nil, head.kind != .settings || head.has(HTTP2FrameHead.ack) {
            return HTTP2Fault(.protocolError, "no SETTINGS in front")
        }
        if let assembly, head.kind != .continuation || head.stream != assembly.stream {
            return HTTP2Fault(.protocolError, "a frame between HEADERS and CONTINUATION")
        }
        switch head.kind {
        case .data, .headers, .resetStream, .priority, .continuation:
            if head.stream == 0 { return HTTP2Fault(.protocolError, "a frame on stream 0 that belongs to a stream") }
        case .settings, .ping, .goAway:
            if head.stream != 0 { return HTTP2Fault(.protocolError, "a frame on a stream that belongs to stream 0") }
        default: break
        }
        switch head.kind {
        case .data, .headers, .resetStream, .windowUpdate:
            if head.stream != 0, head.stream % 2 == 0 || head.stream >= nextNumber {
                return HTTP2Fault(.protocolError, "a frame on stream \(head.stream), which was not opened")
            }
        default: break
        }
        let length: Int? =
            switch head.kind {
            case .priority: 5
            case .resetStream, .windowUpdate: 4
            case .ping: 8
            default: nil
            }
        if let length, head.length != length { return HTTP2Fault(.frameSizeError, "a frame of a wrong length") }
        return nil
    }

    // MARK: DATA

    private mutating func takeData(_ head: HTTP2FrameHead, _ range: Range<Int>, isFirst: Bool, isLast: Bool) {
        if isFirst {
            if let fault = fault(of: head) { return fail(fault) }
            guard countData(head) else { return }
        }
        frameBytes += range.count
        let endStream = isLast && head.has(HTTP2FrameHead.endStream)
        if isLast, frameBytes == 0, !endStream { waste() }
        guard let id = streams.id(of: head.stream), let stream = streams[id], !stream.isOver, !isClosed else { return }
        guard stream.remote == .body, !(stream.hasNoBody && range.count > 0) else {
            return refuse(
                id, stream.remote == .body ? "has a body, which it must not have" : "has a body before its head")
        }
        let got = stream.got &+ Int64(range.count)
        if let declared = stream.declared, !stream.hasNoBody, got > declared {
            return refuse(id, "is longer than its Content-Length of \(declared)")
        }
        let now = now
        _ = streams.change(id) { stream in
            stream.got = got
            stream.lastMoved = now
        }
        // padding and dropped bytes count as read at once
        let dropped = stream.dropsUntil == nil ? 0 : range.count
        let padding = isLast ? head.length - frameBytes : 0
        if dropped + padding > 0 { take(dropped + padding, of: id) }
        if dropped == 0, range.count > 0 { emit(.body(id, range)) }
        if endStream { finish(id, trailers: []) }
    }

    /// Counts a whole DATA frame for flow control when its head arrives. False if that ended the connection.
    private mutating func countData(_ head: HTTP2FrameHead) -> Bool {
        frameBytes = 0
        liveness.progressed()
        budget.earn(head.length)
        guard receiveWindow.receive(head.length) else {
            fail(HTTP2Fault(.flowControlError, "more DATA than the window of the connection allows"))
            return false
        }
        let increment = receiveWindow.take(head.length, nil)
        if increment > 0 { writer.windowUpdate(increment, stream: 0) }
        guard let id = streams.id(of: head.stream), streams[id]?.isOver == false else {
            lateFrame(head.stream, bytes: head.length)
            return !isClosed
        }
        guard streams.change(id, { $0.receive.receive(head.length) }) == true else {
            fail(HTTP2Fault(.flowControlError, "more DATA than the window of a stream allows"))
            return false
        }
        return true
    }

    // MARK: frames of the connection

    private mutating func takeSettings(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        if head.has(HTTP2FrameHead.ack) {
            guard payload.count == 0 else { return fail(HTTP2Fault(.frameSizeError, "SETTINGS of a wrong length")) }
            if !awaitsAck { waste() }
            awaitsAck = false
            return
        }
        if awaitsSettings == nil { waste() }
        guard !isClosed else { return }
        let window = peer.window
        if let fault = peer.take(payload) { return fail(fault) }
        awaitsSettings = nil
        encoder.resize(peer.headerTable)
        if peer.window != window {
            let more = peer.window - window
            for id in streams.ids {
                guard streams.change(id, { $0.send.grow(more) }) == true else {
                    return fail(HTTP2Fault(.flowControlError, "a window of a stream above 2^31-1"))
                }
                enterLine(id)
            }
        }
        writer.settingsAck()
        acknowledge()
        noteCapacity()
    }

    private mutating func takePing(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        if head.has(HTTP2FrameHead.ack) {
            let number = pingNumber.bigEndian
            let isOurs = withUnsafeBytes(of: number) { $0.elementsEqual(payload) }
            return isOurs && liveness.isPending ? liveness.acknowledged() : waste()
        }
        waste()
        guard !isClosed else { return }
        writer.ping(payload, isAck: true)
        acknowledge()
    }

    private mutating func acknowledge() {
        acksInOutput += 1
        guard acksInOutput + acksInFlight > Self.mostAcks else { return }
        fail(HTTP2Fault(.enhanceYourCalm, "more frames to acknowledge than are read"))
    }

    private static let mostAcks = 100

    private mutating func takeGoAway(_ payload: UnsafeRawBufferPointer) {
        guard payload.count >= 8 else { return fail(HTTP2Fault(.frameSizeError, "GOAWAY of a wrong length")) }
        waste()
        guard !isClosed else { return }
        let last = payload.number(at: 0) & 0x7FFF_FFFF
        let text = String(decoding: payload[8...].prefix(200), as: UTF8.self)
        let fault = HTTP2Fault(HTTP2ErrorCode(rawValue: payload.number(at: 4)), text)
        if fault.code != .noError || peerFault == nil { peerFault = fault }
        phase = .draining
        // the highest number is a warning of the end, and names none
        endsAfterOthers = fault.code == .noError && last > 0 && last < 0x7FFF_FFFF && nextNumber > 1
        for id in streams.ids where id.number > last {
            end(id, .broke(id, endsAfterOthers ? .passedOver(fault) : .unprocessed(fault)))
        }
        noteCapacity()
        closeIfDone()
    }

    private mutating func takeWindowUpdate(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        let increment = Int(truncatingIfNeeded: payload.number(at: 0) & 0x7FFF_FFFF)
        if increment < 1024 {
            if expectedUpdates > 0 { expectedUpdates -= 1 } else { waste() }
            guard !isClosed else { return }
        }
        guard head.stream != 0 else {
            guard increment > 0 else { return fail(HTTP2Fault(.protocolError, "WINDOW_UPDATE of 0")) }
            guard sendWindow.grow(increment) else {
                return fail(HTTP2Fault(.flowControlError, "a window of the connection above 2^31-1"))
            }
            return
        }
        // the stream may have ended meanwhile
        guard let id = streams.id(of: head.stream), streams[id]?.isOver == false else { return }
        guard increment > 0 else { return refuse(id, "came with a WINDOW_UPDATE of 0") }
        guard streams.change(id, { $0.send.grow(increment) }) == true else {
            return refuse(id, "came with a window above 2^31-1")
        }
        enterLine(id)
    }

    private mutating func takeReset(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        waste()
        guard !isClosed, let id = streams.id(of: head.stream), let stream = streams[id] else { return }
        let code = HTTP2ErrorCode(rawValue: payload.number(at: 0))
        // so Node ends a response whose last bytes had to wait for the window
        if code == .noError, stream.remote == .body, stream.hasNoBody || stream.declared == stream.got {
            // nothing more is sent, no reset either
            _ = streams.change(id) { $0.localClosed = true }
            return finish(id, trailers: [])
        }
        let hasBegun = stream.remote == .body || stream.hasHeard
        let reason: HTTP2StreamEnd =
            switch code {
            case .refusedStream where !hasBegun: .unprocessed(HTTP2Fault(code))
            case .http11Required where !hasBegun: .needsHTTP11
            default: .reset(HTTP2Fault(code), stream.progress(replayable: false))
            }
        end(id, .broke(id, reason))
    }
}
