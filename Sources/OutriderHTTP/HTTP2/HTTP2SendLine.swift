// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Streams with data to send, in turns; streams of low priority only when no other can send.
struct HTTP2SendLine {
    private var normal: [HTTP2StreamID] = []
    private var low: [HTTP2StreamID] = []

    var isEmpty: Bool { normal.isEmpty && low.isEmpty }

    mutating func add(_ id: HTTP2StreamID, isLow: Bool) {
        if isLow { low.append(id) } else { normal.append(id) }
    }

    /// The first stream that can send; ended streams are removed.
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
            if !stream.isPaused, stream.queued == 0 || window > 0 { return list.remove(at: index) }
            index += 1
        }
        return nil
    }
}
