// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A stream, from its HEADERS to its end.
struct HTTP2Stream {
    enum Remote { case head, body, closed }

    /// 0 in a slot that is free.
    var number: UInt32
    var send: HTTP2Window
    var receive: HTTP2ReceiveWindow
    var remote = Remote.head
    /// The client's END_STREAM is written.
    var localClosed = false
    /// Bytes that the caller can send, and whether the body ends with them.
    var queued = 0
    var queuedLast = false
    /// Bytes of bodies on the connection up to the last frame that opens or ends the request.
    var ahead: Int64
    var isInLine = false
    /// The rest of the body waits, also in the line.
    var isPaused = false
    let isLow: Bool
    /// Of a HEAD request, or a status without a body.
    var hasNoBody: Bool
    var hasHeard = false
    var informational = 0
    var declared: Int64?
    var got: Int64 = 0
    /// Set for a cancelled stream with a short rest, which is read and dropped until this time.
    var dropsUntil: Double?
    /// The stream's last event has not been taken yet; the slot stays reserved.
    var isOver = false
    /// When the last frame was received or sent.
    var lastMoved: Double

    init(_ number: UInt32, _ request: HTTP2Request, window: Int, ahead: Int64, now: Double) {
        self.number = number
        send = HTTP2Window(window)
        receive = HTTP2ReceiveWindow(HTTP2Settings.streamWindow)
        isLow = request.priority == .low
        hasNoBody = request.attempt.method == "HEAD"
        localClosed = !request.hasBody
        self.ahead = ahead
        lastMoved = now
    }

    var canSend: Bool {
        guard !isPaused, !localClosed, !isOver else { return false }
        return queued > 0 ? send.left > 0 : queuedLast
    }

    /// Whether the stream waits for the peer, not for its own reader.
    var waits: Bool { !isOver && remote != .closed && receive.held == 0 }

    func progress(replayable: Bool) -> HTTP2Progress {
        switch remote {
        case .head: hasHeard ? .inHead : .beforeResponse(replayable: replayable)
        case .body, .closed: .inBody
        }
    }
}

/// The streams of a connection, found by number and by slot.
struct HTTP2StreamTable {
    private var slots: [HTTP2Stream] = []
    private var free: [Int] = []
    /// Ascending, since numbers are: with the slot of each.
    private var numbers: [UInt32] = []
    private var places: [Int] = []

    /// All ids, oldest first.
    var ids: [HTTP2StreamID] { zip(numbers, places).map { HTTP2StreamID(number: $0, slot: $1) } }

    mutating func add(_ stream: HTTP2Stream) -> HTTP2StreamID {
        let slot: Int
        if let last = free.popLast() {
            slot = last
            slots[slot] = stream
        } else {
            slot = slots.count
            slots.append(stream)
        }
        numbers.append(stream.number)
        places.append(slot)
        return HTTP2StreamID(number: stream.number, slot: slot)
    }

    func id(of number: UInt32) -> HTTP2StreamID? {
        index(of: number).map { HTTP2StreamID(number: number, slot: places[$0]) }
    }

    /// Nil if the stream is gone.
    subscript(_ id: HTTP2StreamID) -> HTTP2Stream? {
        guard slots.indices.contains(id.slot), slots[id.slot].number == id.number else { return nil }
        return slots[id.slot]
    }

    /// Changes a stream in place; nil if the stream is gone.
    mutating func change<Result>(_ id: HTTP2StreamID, _ body: (inout HTTP2Stream) -> Result) -> Result? {
        guard slots.indices.contains(id.slot), slots[id.slot].number == id.number else { return nil }
        return body(&slots[id.slot])
    }

    mutating func remove(_ id: HTTP2StreamID) -> HTTP2Stream? {
        guard let index = index(of: id.number), places[index] == id.slot else { return nil }
        let stream = slots[id.slot]
        numbers.remove(at: index)
        places.remove(at: index)
        slots[id.slot].number = 0
        free.append(id.slot)
        return stream
    }

    private func index(of number: UInt32) -> Int? {
        var low = 0
        var high = numbers.count
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < numbers.count && numbers[low] == number ? low : nil
    }
}
