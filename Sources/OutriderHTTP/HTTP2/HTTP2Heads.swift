// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Blocks of fields that the peer sends: heads and trailers.
extension HTTP2Machine {
    mutating func takeHeaders(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        liveness.progressed()
        var block = payload
        if head.has(HTTP2FrameHead.padded) {
            guard let padding = block.first, Int(truncatingIfNeeded: padding) < block.count else {
                return fail(HTTP2Fault(.protocolError, "more padding than payload"))
            }
            block = UnsafeRawBufferPointer(rebasing: block[1..<block.count - Int(truncatingIfNeeded: padding)])
        }
        if head.has(HTTP2FrameHead.priority) {
            guard block.count >= 5 else { return fail(HTTP2Fault(.frameSizeError, "HEADERS of a wrong length")) }
            block = UnsafeRawBufferPointer(rebasing: block[5...])
        }
        let endStream = head.has(HTTP2FrameHead.endStream)
        if head.has(HTTP2FrameHead.endHeaders) { return takeBlock(block, head.stream, endStream: endStream) }
        assembly = HTTP2Assembly(stream: head.stream, endStream: endStream, block: Array(block))
        if let id = streams.id(of: head.stream) { _ = streams.change(id) { $0.hasHeard = true } }
    }

    mutating func takeContinuation(_ head: HTTP2FrameHead, _ payload: UnsafeRawBufferPointer) {
        guard var assembly else { return fail(HTTP2Fault(.protocolError, "CONTINUATION without HEADERS")) }
        waste()
        guard !isClosed else { return }
        self.assembly = nil
        assembly.frames += 1
        assembly.block += payload
        guard assembly.frames <= HTTP2Assembly.mostFrames, assembly.block.count <= HTTP2Assembly.mostBytes else {
            let text = "fields of more than 64 KiB, or in more than \(HTTP2Assembly.mostFrames) frames"
            return fail(HTTP2Fault(.enhanceYourCalm, text))
        }
        guard head.has(HTTP2FrameHead.endHeaders) else {
            self.assembly = assembly
            return
        }
        assembly.block.withUnsafeBytes { takeBlock($0, assembly.stream, endStream: assembly.endStream) }
    }

    /// Decodes every block, even of a stream that is gone, since each block changes the table.
    private mutating func takeBlock(_ block: UnsafeRawBufferPointer, _ number: UInt32, endStream: Bool) {
        let id = streams.id(of: number)
        let stream = id.flatMap { streams[$0] }
        let isOpen = stream?.isOver == false
        var fields = HTTP2FieldBlock(keeps: isOpen && stream?.dropsUntil == nil)
        switch decoder.decode(block, into: &fields) {
        case nil: break
        case .malformed: return fail(HTTP2Fault(.compressionError, "fields that cannot be decoded"))
        case .tooMuch: return fail(HTTP2Fault(.enhanceYourCalm, "fields of more than 256 KiB"))
        }
        guard let id, let stream, isOpen else { return lateFrame(number, bytes: 0) }
        let now = now
        _ = streams.change(id) { stream in
            stream.hasHeard = true
            stream.lastMoved = now
        }
        if fields.isTooLarge { return refuse(id, "has fields of more than 64 KiB, or more than 1000", .limitExceeded) }
        if let fault = fields.fault { return refuse(id, "has \(fault)") }
        switch stream.remote {
        case .head: takeHead(fields, id, stream, endStream: endStream)
        case .body: takeTrailers(fields, id, endStream: endStream)
        case .closed: lateFrame(number, bytes: 0)
        }
    }

    private mutating func takeHead(
        _ fields: HTTP2FieldBlock, _ id: HTTP2StreamID, _ stream: HTTP2Stream, endStream: Bool
    ) {
        guard let status = fields.status else { return refuse(id, "has no status") }
        let head = ResponseHead(status: status, version: .http2, fields: HTTPFields(fields.fields))
        guard status >= 200 else {
            guard status != 101, !endStream else { return refuse(id, "has the status \(status), and ends or switches") }
            guard stream.informational < Self.mostInformational else {
                return refuse(id, "has more than \(Self.mostInformational) informational heads", .limitExceeded)
            }
            _ = streams.change(id) { $0.informational += 1 }
            return emit(.informational(id, head))
        }
        let hasNoBody = stream.hasNoBody || status == 204 || status == 304
        _ = streams.change(id) { stream in
            stream.remote = .body
            stream.hasNoBody = hasNoBody
            stream.declared = fields.length
        }
        let isEmpty = hasNoBody || endStream && (fields.length ?? 0) == 0
        let framing: BodyFraming = if isEmpty { .none } else { fields.length.map { .length($0) } ?? .untilClose }
        emit(.response(id, head, framing, stopSending: !stream.localClosed && status >= 300))
        if endStream { finish(id, trailers: []) }
    }

    static var mostInformational: Int { 20 }

    private mutating func takeTrailers(_ fields: HTTP2FieldBlock, _ id: HTTP2StreamID, endStream: Bool) {
        guard endStream else { return refuse(id, "has a second head") }
        guard fields.status == nil else { return refuse(id, "has a pseudo-field in its trailers") }
        finish(id, trailers: HTTPFields(fields.fields))
    }
}
