// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides the next steps of an HTTP/2 client connection (RFC 9113).
///
///     open ──▶ running ──drain, GOAWAY, numbers used up──▶ draining ──last stream ends──▶ closed
///                 └────────a broken rule, a limit, silence, the end of the connection────▶ closed
///
/// The caller reports each input, then takes every event with `nextEvent`, then DATA turns with `nextData`, and writes
/// the bytes of `takeOutput`. Times are seconds of a monotonic clock.
///
/// Responsible for: frames, fields, flow control, limits, the outcome of each stream, and when the connection is dead.
/// Not responsible for: the socket, body content (only bytes are counted), timeouts, replays.
package struct HTTP2Machine: ~Copyable {
    enum Phase { case running, draining, closed }

    var phase = Phase.running
    var scanner = HTTP2FrameScanner()
    var writer = HTTP2FrameWriter()
    var encoder = HPACKEncoder()
    private var requestHead = HTTP2RequestHead()
    var decoder = HPACKDecoder()
    var streams = HTTP2StreamTable()
    /// Streams whose last event has not been queued.
    package internal(set) var openStreams = 0
    /// The number of the next stream: odd, and 1 for the first.
    var nextNumber: UInt32 = 1
    var peer = HTTP2Settings()
    /// When the connection was opened; nil once the peer's settings have arrived.
    var awaitsSettings: Double?
    var awaitsAck = true
    /// The send window of the connection.
    var sendWindow = HTTP2Window(HTTP2Settings.defaultWindow)
    var receiveWindow = HTTP2ReceiveWindow(HTTP2Settings.connectionWindow)
    let reserve: HTTP2WindowReserve
    var line = HTTP2SendLine()
    var budget = HTTP2Budget()
    var resets = HTTP2Resets()
    /// Streams that the client reset, with the bytes that may still arrive for them.
    var forgotten = HTTP2ForgottenStreams()
    var liveness: HTTP2Liveness
    var pingNumber: UInt64 = 0
    /// A block of fields whose CONTINUATION frames are missing.
    var assembly: HTTP2Assembly?
    /// Bytes of the body in the DATA frame that is being read.
    var frameBytes = 0
    /// Small WINDOW_UPDATEs that the peer may send for DATA frames.
    var expectedUpdates = 0
    /// Acknowledgements in the output, and those in the caller's current write.
    var acksInOutput = 0
    var acksInFlight = 0
    /// GOAWAY of the peer.
    var peerFault: HTTP2Fault?
    /// Whether the peer ends the connection after other streams, as when it limits the requests of a connection.
    package internal(set) var endsAfterOthers = false
    var now: Double
    var lastCapacity: Int
    /// Taken ones are nil.
    private var events: [HTTP2Event?] = []
    private var firstEvent = 0
    /// The capacity until the peer's settings arrive.
    private let assumed: Int
    let isAgreed: Bool

    /// - Parameters:
    ///   - reserve: shared by the connections of an event loop.
    ///   - known: the capacity of another connection to the same server; nil if unknown.
    ///   - isAgreed: whether the server agreed to HTTP/2 in the TLS handshake.
    package init(reserve: HTTP2WindowReserve, now: Double, known: Int? = nil, isAgreed: Bool = false) {
        self.isAgreed = isAgreed
        self.reserve = reserve
        self.now = now
        assumed = min(known ?? .max, HTTP2Settings.assumedStreams)
        lastCapacity = assumed
        awaitsSettings = now
        liveness = HTTP2Liveness(now: now)
        writer.preface()
        writer.settings(HTTP2Settings.ours)
        writer.windowUpdate(HTTP2Settings.connectionWindow - HTTP2Settings.defaultWindow, stream: 0)
    }

    // MARK: calls of the caller

    package var isClosed: Bool { phase == .closed }

    /// Whether no further stream will begin.
    package var isDraining: Bool { phase != .running }

    /// The number of concurrent streams; until the peer's settings arrive, that of another connection, or 100.
    package var capacity: Int {
        guard phase == .running, !liveness.isSuspect else { return 0 }
        return awaitsSettings == nil ? peer.streams : assumed
    }

    /// Whether the peer's settings allow no streams at present.
    package var refusesForNow: Bool { phase == .running && awaitsSettings == nil && peer.streams == 0 }

    /// Whether `begin` can make a stream now.
    package var canBegin: Bool { openStreams < capacity }

    /// Streams begun so far, ended ones included.
    package var begunStreams: Int { Int(nextNumber / 2) }  // safe: below 2^31

    /// Whether `timePassed` has to be called about every half second.
    package var needsTicks: Bool { !isClosed && (openStreams > 0 || awaitsSettings != nil || liveness.isPending) }

    /// The next event; nil if there is none.
    package mutating func nextEvent() -> HTTP2Event? {
        guard firstEvent < events.count else { return nil }
        // moved, since a copy of a head is dear
        var event: HTTP2Event?
        swap(&event, &events[firstEvent])
        firstEvent += 1
        if firstEvent == events.count {
            events.removeAll(keepingCapacity: events.capacity <= 64)
            firstEvent = 0
        }
        switch event {
        case .ended(let id, _), .broke(let id, _): release(id)
        default: break
        }
        return event
    }

    package var hasEvents: Bool { firstEvent < events.count }

    package var hasOutput: Bool { !writer.isEmpty }

    /// Whether there may be something to write: output, or DATA whose turn it is.
    package var mayWrite: Bool { hasOutput || !line.isEmpty }

    /// The bytes of the next `takeOutput`.
    package var outputBytes: Int { writer.count }

    /// Acknowledgements among the bytes of the next `takeOutput`.
    package var unsentAcks: Int { acksInOutput }

    /// Passes the bytes to write to `body`, then clears them. `written` must be called once the kernel has them.
    package mutating func takeOutput<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        acksInFlight += acksInOutput
        acksInOutput = 0
        return try writer.take(body)
    }

    /// The kernel has the bytes of the last output, with so many acknowledgements among them.
    package mutating func written(_ acks: Int) { acksInFlight = max(0, acksInFlight - acks) }

    // MARK: streams

    /// Writes HEADERS. Nil if no stream can begin; throws for a request that must not be sent.
    package mutating func begin(_ request: HTTP2Request, now: Double) throws(HTTPFailure) -> HTTP2StreamID? {
        guard canBegin, nextNumber < 0x7FFF_FFFF else { return nil }
        let isKnown = requestHead.isKnown(request)
        if isKnown {
            try HTTP2RequestFields.check(target: request.attempt.url.target)
        } else {
            try HTTP2RequestFields.check(request.attempt)
        }
        self.now = now
        if liveness.begins(now, isIdle: openStreams == 0) { ping() }
        let number = nextNumber
        nextNumber += 2
        let start = writer.beginHeaders(stream: number, endStream: !request.hasBody)
        requestHead.write(request, isKnown: isKnown, &encoder, &writer.output)
        writer.endHeaders(start, stream: number, endStream: !request.hasBody)
        openStreams += 1
        let id = streams.add(HTTP2Stream(number, request, window: peer.window, ahead: liveness.sent, now: now))
        if nextNumber >= 0x7FFF_FFFF { beginDraining() }
        return id
    }

    /// Cancels a stream; its pending events must be ignored. A short rest of its response is read and dropped, since
    /// servers take many resets for an attack.
    package mutating func cancel(_ id: HTTP2StreamID, now: Double) {
        guard let stream = streams[id], !stream.isOver, !isClosed else { return }
        self.now = now
        if stream.remote == .body, stream.localClosed, let declared = stream.declared,
            declared - stream.got <= Int64(truncatingIfNeeded: Self.mostDropped)
        {
            take(stream.receive.held, of: id)
            _ = streams.change(id) { $0.dropsUntil = now + Self.dropSeconds }
            return
        }
        reset(id, .cancel)
        end(id)
    }

    private static let mostDropped = 64 << 10
    private static let dropSeconds = 5.0

    /// The reader of a stream has consumed bytes of its body.
    package mutating func consumed(_ id: HTTP2StreamID, _ bytes: Int) {
        guard !isClosed else { return }
        take(bytes, of: id)
    }

    // MARK: time and ends

    /// Checks the time limits.
    package mutating func timePassed(_ now: Double) {
        guard !isClosed else { return }
        self.now = now
        if let since = awaitsSettings, now - since >= Self.settingsSeconds {
            return fail(HTTP2Fault(.settingsTimeout, "the server sent no SETTINGS"))
        }
        var waitsSince: Double?
        for id in streams.ids {
            guard let stream = streams[id] else { continue }
            if let until = stream.dropsUntil, now >= until {
                reset(id, .cancel)
                end(id)
            } else if stream.waits {
                waitsSince = min(waitsSince ?? stream.lastMoved, stream.lastMoved)
            }
        }
        switch liveness.timePassed(now, waitsSince: waitsSince) {
        case .nothing: break
        case .ping: ping()
        case .suspect: noteCapacity()
        case .dead: lose(HTTP2Fault(.noError, "no acknowledgement of a PING"), replayable: true)
        }
    }

    private static let settingsSeconds = 10.0

    /// Allows no new streams; the connection closes after the last stream has ended.
    package mutating func drain() {
        guard phase == .running else { return }
        beginDraining()
    }

    /// The connection has ended, or broke.
    package mutating func closed() {
        guard !isClosed else { return }
        lose(peerFault, replayable: false)
    }

    // MARK: within

    mutating func emit(_ event: HTTP2Event) { events.append(event) }

    mutating func ping() {
        pingNumber &+= 1
        withUnsafeBytes(of: pingNumber.bigEndian) { writer.ping($0, isAck: false) }
    }

    mutating func beginDraining() {
        if phase == .running { phase = .draining }
        noteCapacity()
        closeIfDone()
    }

    mutating func noteCapacity() {
        let now = capacity
        guard now != lastCapacity else { return }
        lastCapacity = now
        emit(.capacity(now))
    }

    func closes() -> Bool { phase == .draining && openStreams == 0 }

    mutating func closeIfDone() {
        guard closes() else { return }
        phase = .closed
        writer.goAway(last: 0, .noError)
        emit(.close(nil))
    }
}
