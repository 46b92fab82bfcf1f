// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Streams that have something to send, in turns; those of low priority when no other can.
struct HTTP2SendLine {
    private var normal: [HTTP2StreamID] = []
    private var low: [HTTP2StreamID] = []

    var isEmpty: Bool { normal.isEmpty && low.isEmpty }

    mutating func add(_ id: HTTP2StreamID, isLow: Bool) {
        if isLow { low.append(id) } else { normal.append(id) }
    }

    /// The first that can send; those that are gone are left out.
    ///
    /// - Parameter window: of the connection.
    mutating func next(_ streams: HTTP2StreamTable, window: Int) -> HTTP2StreamID? {
        Self.next(&normal, streams, window) ?? Self.next(&low, streams, window)
    }

    private static func next(
        _ list: inout [HTTP2StreamID], _ streams: HTTP2StreamTable, _ window: Int
    ) -> HTTP2StreamID? {
        var index = 0
        while index < list.count {
            guard let stream = streams[list[index]], stream.isInLine, !stream.isOver else {
                list.remove(at: index)
                continue
            }
            if stream.queued == 0 || window > 0 { return list.remove(at: index) }
            index += 1
        }
        return nil
    }
}

/// Bodies that are sent.
extension HTTP2Machine {
    /// The caller has so many more bytes of a stream's body; `isLast` if it ends with them.
    package mutating func bodyReady(_ id: HTTP2StreamID, _ bytes: Int, isLast: Bool) {
        guard !isClosed, bytes >= 0 else { return }
        _ = streams.change(id) { stream in
            guard !stream.localClosed, !stream.queuedLast, !stream.isStopped else { return }
            stream.queued += bytes
            stream.queuedLast = isLast
        }
        enterLine(id)
    }

    /// The rest of a body is not sent, and the caller has dropped what it had: the server has refused the request. The
    /// stream ends with its response.
    package mutating func stopSending(_ id: HTTP2StreamID) {
        _ = streams.change(id) { stream in
            stream.queued = 0
            stream.isStopped = true
            stream.isInLine = false
        }
    }

    /// The next DATA frame: its head is in the output then, and the caller writes the bytes behind it before anything else.
    /// Nil if nothing can be sent. At most 16 KiB each, one stream after the other.
    package mutating func nextData() -> HTTP2DataTurn? {
        guard !isClosed, !line.isEmpty else { return nil }
        guard let id = line.next(streams, window: sendWindow.left), let stream = streams[id] else { return nil }
        let most = min(HTTP2FrameWriter.mostPayload, sendWindow.left, stream.send.left)
        let bytes = max(0, min(stream.queued, most))
        let isLast = stream.queuedLast && bytes == stream.queued
        let now = now
        _ = streams.change(id) { stream in
            stream.isInLine = false
            stream.queued -= bytes
            stream.send.take(bytes)
            stream.localClosed = isLast
            stream.lastMoved = now
        }
        // a stream's window may have become smaller while it stood in line
        guard bytes > 0 || isLast else { return nextData() }
        sendWindow.take(bytes)
        expectedUpdates = min(1000, expectedUpdates + 2)
        writer.head(.data, length: bytes, flags: isLast ? HTTP2FrameHead.endStream : 0, stream: id.number)
        enterLine(id)
        return HTTP2DataTurn(stream: id, bytes: bytes, isLast: isLast)
    }

    /// If it has something to send and is not there.
    mutating func enterLine(_ id: HTTP2StreamID) {
        guard let stream = streams[id], !stream.isInLine, stream.canSend else { return }
        line.add(id, isLow: stream.isLow)
        _ = streams.change(id) { $0.isInLine = true }
    }
}
