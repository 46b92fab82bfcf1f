// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bodies that are sent.
extension HTTP2Machine {
    /// Notes that the caller has `bytes` more of a stream's body; `isLast` if the body ends with them.
    package mutating func bodyReady(_ id: HTTP2StreamID, _ bytes: Int, isLast: Bool) {
        guard !isClosed, bytes >= 0 else { return }
        _ = streams.change(id) { stream in
            guard !stream.localClosed, !stream.queuedLast else { return }
            stream.queued += bytes
            stream.queuedLast = isLast
        }
        enterLine(id)
    }

    /// Keeps a body back, such as the rest behind a refusal, or sends it on.
    package mutating func pauseSending(_ id: HTTP2StreamID, _ isPaused: Bool) {
        _ = streams.change(id) { $0.isPaused = isPaused }
        enterLine(id)
    }

    /// The next DATA frame: its head is then in the output, and the caller must write the bytes next. Nil if no stream
    /// can send. At most 16 KiB each, streams in turns.
    package mutating func nextData() -> HTTP2DataTurn? {
        guard !isClosed, !line.isEmpty else { return nil }
        guard let id = line.next(streams, window: sendWindow.left), let stream = streams[id] else { return nil }
        let most = min(HTTP2FrameWriter.mostPayload, sendWindow.left, stream.send.left)
        let bytes = max(0, min(stream.queued, most))
        let isLast = stream.queuedLast && bytes == stream.queued
        if bytes > 0 { liveness.sends(bytes, now) }
        let (now, sent) = (now, liveness.sent)
        _ = streams.change(id) { stream in
            stream.isInLine = false
            stream.queued -= bytes
            stream.send.take(bytes)
            stream.localClosed = isLast
            if isLast { stream.ahead = sent }
            stream.lastMoved = now
        }
        // the window of a stream may have shrunk while the stream stood in line
        guard bytes > 0 || isLast else { return nextData() }
        sendWindow.take(bytes)
        expectedUpdates = min(1000, expectedUpdates + 2)
        writer.head(.data, length: bytes, flags: isLast ? HTTP2FrameHead.endStream : 0, stream: id.number)
        enterLine(id)
        return HTTP2DataTurn(stream: id, bytes: bytes, isLast: isLast)
    }

    /// Puts a stream into the line if the stream can send and is not there yet.
    mutating func enterLine(_ id: HTTP2StreamID) {
        guard let stream = streams[id], !stream.isInLine, stream.canSend else { return }
        line.add(id, isLow: stream.isLow)
        _ = streams.change(id) { $0.isInLine = true }
    }
}
