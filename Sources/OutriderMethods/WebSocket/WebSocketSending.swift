// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// A message on its way to the server.
struct OutgoingMessage: Sendable {
    var isText: Bool
    var bytes: [UInt8]
}

/// Unpredictable masks, drawn from the system in batches.
struct FrameMasks: Sendable {
    private var spare: [UInt32] = []

    mutating func next() -> UInt32 {
        if let mask = spare.popLast() { return mask }
        let (first, second) = RandomPool.pair()
        spare = [first, second].flatMap { [UInt32(truncatingIfNeeded: $0), UInt32(truncatingIfNeeded: $0 >> 32)] }
        return spare.popLast() ?? 0
    }
}

/// Frames that wait to be written on a WebSocket, and the calls that wait for them.
struct WebSocketSending: ~Copyable {
    /// A call returns once no more than this many bytes wait.
    static let capacity = 256 << 10
    /// The most bytes that may wait.
    static let limit = 16 << 20
    /// Beyond this many bytes only the newest ping gets its pong.
    private static let congestion = 64 << 10

    struct Ping {
        var payload: [UInt8]
        var sent: ContinuousClock.Instant
        var rtt: Duration?
        var signal: AsyncSignal
        var id: Int
    }

    var masks = FrameMasks()
    /// Frames that the event loop will write.
    private(set) var frames: [UInt8] = []
    /// Bytes of frames that the kernel does not have.
    private(set) var unwritten = 0
    var isScheduled = false
    /// Sent before the connection was open.
    private(set) var early: [OutgoingMessage] = []
    private var earlyBytes = 0
    var senders: [AsyncSignal] = []
    var pings: [Ping] = []
    var nextPing = 0

    /// The memory of long messages, each until the kernel has so many bytes of all that were appended.
    private var charges: [(memory: any PayloadCharge, end: Int)] = []
    private var appended = 0
    /// The end of the last ping of keep-alive among all bytes that were appended.
    private var pingEnd = 0

    /// Counts messages that were just taken, until the kernel has them.
    mutating func count(_ memory: any PayloadCharge) {
        charges.append((memory, early.isEmpty ? appended : .max))
    }

    /// The early messages are frames now: their memory is given back once the kernel has those.
    mutating func countEarly() {
        for index in charges.indices where charges[index].end == .max { charges[index].end = appended }
    }

    private mutating func release() {
        let written = appended &- unwritten
        while let first = charges.first, waiting == 0 || first.end <= written { charges.removeFirst() }
    }

    /// A ping of keep-alive was just appended.
    mutating func pinged() { pingEnd = appended }

    /// Whether the kernel does not have the last ping of keep-alive yet.
    var isPingWaiting: Bool { pingEnd > appended &- unwritten }

    mutating func mask() -> UInt32 { masks.next() }

    var waiting: Int { unwritten + earlyBytes }

    /// What waits without memory of its own.
    var uncounted: Int { max(0, waiting - charges.reduce(0) { $0 + $1.memory.bytes }) }

    var isCongested: Bool { unwritten > Self.congestion }

    mutating func append(_ more: [UInt8]) {
        guard !more.isEmpty else { return }
        unwritten += more.count
        appended &+= more.count
        if frames.isEmpty { frames = more } else { frames.append(contentsOf: more) }
    }

    mutating func take() -> [UInt8] {
        isScheduled = false
        defer { frames = [] }
        return frames
    }

    /// The kernel has that many bytes. Returns the senders that may continue.
    mutating func wrote(_ count: Int) -> [AsyncSignal] {
        unwritten = max(0, unwritten - count)
        release()
        guard waiting < Self.capacity else { return [] }
        defer { senders = [] }
        return senders
    }

    mutating func keep(_ message: OutgoingMessage) {
        early.append(message)
        earlyBytes += message.bytes.count
    }

    mutating func takeEarly() -> [OutgoingMessage] {
        defer { (early, earlyBytes) = ([], 0) }
        return early
    }

    /// Nothing more is sent on this connection. Returns all that wait.
    mutating func end() -> [AsyncSignal] {
        let signals = senders + pings.map(\.signal)
        senders = []
        charges = []
        return signals
    }

    /// For the next connection.
    mutating func reset() {
        frames = []
        unwritten = 0
        release()
    }
}
