// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// The timeline of an attempt, and its deadlines. Read in place: a copy costs as much as a small method.
struct AttemptClock: ~Copyable {
    private var timeouts: Timeouts
    private let began = NIODeadline.now()
    private var totalEnd: NIODeadline
    private var frozenAt: NIODeadline?
    private(set) var phase = HTTPFailure.Phase.queue
    private var phaseEnd = NIODeadline.distantFuture
    private var phaseSeconds = 0.0
    private var phaseBegan: NIODeadline
    /// Start and deadline of the wait for a complete head; no deadline while no head is awaited.
    private var headBegan: NIODeadline
    private var headEnd = NIODeadline.distantFuture
    private(set) var timeline = Timeline()
    /// Bytes since the start of the phase, or since its last deadline that was met.
    private var phaseBytes = 0
    /// The remaining time for the minimum rate during a pause.
    private var timeLeft: TimeAmount?

    init(_ timeouts: Timeouts) {
        self.timeouts = timeouts
        phaseBegan = began
        headBegan = began
        totalEnd = began + .seconds(timeouts.total)
    }

    var deadline: NIODeadline { frozenAt == nil ? min(totalEnd, phaseEnd, headEnd) : .distantFuture }

    /// Stops the deadlines until `thaw`.
    mutating func freeze() { frozenAt = frozenAt ?? .now() }

    mutating func thaw() {
        guard let frozenAt else { return }
        let now = NIODeadline.now()
        totalEnd = totalEnd + (now - frozenAt)
        // a phase that began during the freeze has its whole time
        if phaseEnd != .distantFuture { phaseEnd = phaseEnd + (now - max(frozenAt, phaseBegan)) }
        if headEnd != .distantFuture { headEnd = headEnd + (now - max(frozenAt, headBegan)) }
        self.frozenAt = nil
    }

    /// The limits of the request end, but for long limits of silence, and those of the connection that is being opened.
    mutating func lift() {
        let now = NIODeadline.now()
        timeouts.idle = max(timeouts.idle, Timeouts.quiet)
        timeouts.firstByte = max(timeouts.firstByte, Timeouts.quiet)
        timeouts.minimumRate = nil
        totalEnd = now + .seconds(Timeouts.streamTotal)
        // a suspension may have moved the end further
        if headEnd != .distantFuture { headEnd = max(headEnd, headBegan + .seconds(timeouts.firstByte)) }
        guard phaseEnd != .distantFuture, phase == .request || phase == .response else { return }
        allow(timeouts.idle, from: now)
    }

    /// Ends the current phase and begins the next: records the duration, sets the new deadline.
    mutating func enter(_ next: HTTPFailure.Phase) {
        guard next != phase else { return }
        let now = NIODeadline.now()
        close(at: now)
        phase = next
        phaseBegan = now
        switch next {
        case .queue, .total: allow(nil, from: now)
        case .resolve: allow(timeouts.resolve, from: now)
        // the proxy connects for us
        case .connect, .proxy: allow(timeouts.connect, from: now)
        case .tls: allow(timeouts.tls, from: now)
        case .request: allow(timeouts.idle, from: now)
        case .firstByte:
            awaitHead(from: now)
            allow(nil, from: now)
        // the deadline of the head remains until the head is complete
        case .response: allow(timeouts.idle, from: now)
        }
    }

    /// The first bytes of a head came. `timeouts.firstByte` limits the time until its last byte, however steadily bytes
    /// come.
    mutating func headBegins() {
        if headEnd == .distantFuture { awaitHead(from: .now()) }
    }

    /// A 1xx head is complete: the wait for the next head begins anew.
    mutating func informed() {
        guard phase != .request else {
            headEnd = .distantFuture
            return moved()
        }
        let now = NIODeadline.now()
        awaitHead(from: now)
        allow(nil, from: now)
    }

    /// The head of the final response is complete.
    mutating func headEnds() { headEnd = .distantFuture }

    private mutating func awaitHead(from now: NIODeadline) {
        headBegan = now
        headEnd = now + .seconds(timeouts.firstByte)
    }

    /// Bytes were transferred: the idle timeout starts again. With a minimum rate, only after enough bytes.
    mutating func moved() {
        let now = NIODeadline.now()
        guard let rate = timeouts.minimumRate, Double(phaseBytes) < Double(rate) * timeouts.idle else {
            return allow(timeouts.idle, from: now)
        }
        guard phaseEnd == .distantFuture else { return }
        let left = timeLeft ?? now + .seconds(timeouts.idle) - now
        phaseSeconds = timeouts.idle
        phaseEnd = now + left
        timeLeft = nil
    }

    /// A deadline has passed, though the server has received so many bytes of the request's body meanwhile. The idle
    /// timeout then starts again, unless they are too few for the minimum rate; or the wait for the head of the
    /// response does, since the request was not over. Returns whether the attempt goes on.
    mutating func goesOn(_ now: NIODeadline, received bytes: Int) -> Bool {
        guard bytes > 0, totalEnd > now else { return false }
        switch phase {
        case .firstByte: awaitHead(from: now)
        case .request, .response:
            guard headEnd > now, Double(bytes) >= Double(timeouts.minimumRate ?? 0) * timeouts.idle else {
                return false
            }
            allow(timeouts.idle, from: now)
        case .queue, .resolve, .connect, .proxy, .tls, .total: return false
        }
        return true
    }

    /// How often to look at the progress of a body that is being sent. Nil with a minimum rate, which counts the bytes
    /// of the whole time.
    var lookInterval: TimeAmount? {
        timeouts.minimumRate == nil ? .seconds(min(timeouts.idle, timeouts.firstByte) / 8) : nil
    }

    /// Another connection must end first; the limit is the timeout for connecting.
    mutating func awaitConnection() { allow(timeouts.connect, from: .now()) }

    /// Stops the idle timeout, while nothing is expected from the network.
    mutating func pause() {
        if phaseEnd != .distantFuture { timeLeft = max(.nanoseconds(0), phaseEnd - .now()) }
        phaseEnd = .distantFuture
    }

    /// Starts again on another connection after the first died: all time so far counts as queueing.
    mutating func startAgain() {
        let bytes = timeline.bytesSent
        timeline = Timeline()
        timeline.bytesSent = bytes
        headEnd = .distantFuture
        phase = .queue
        phaseBegan = began
        // a deadline of the phase that died must not end the wait for another connection
        allow(nil, from: .now())
    }

    mutating func end() {
        let now = NIODeadline.now()
        close(at: now)
        timeline.total = .between(began, now)
        phase = .total
        headEnd = .distantFuture
        allow(nil, from: now)
    }

    /// The timeline so far, including the running total.
    var snapshot: Timeline {
        var timeline = timeline
        if timeline.total == nil { timeline.total = .between(began, .now()) }
        return timeline
    }

    /// Records the connection that carries the attempt.
    mutating func note(_ begun: BegunStream, _ facts: ConnectionFacts, on connection: UInt64) {
        timeline.reused = begun.isReused
        timeline.remote = facts.remote
        timeline.tlsFacts = facts.tls
        timeline.connection = connection
        timeline.stream = begun.number
    }

    /// The same for a connection that carries a single stream.
    mutating func note(remote: String?, tls: TLSFacts?) {
        timeline.remote = remote
        timeline.tlsFacts = tls
    }

    mutating func sent(_ bytes: Int) {
        timeline.bytesSent &+= Int64(bytes)  // safe: an Int is an Int64
        phaseBytes &+= bytes
    }

    mutating func received(_ bytes: Int) {
        timeline.bytesReceived &+= Int64(bytes)  // safe: an Int is an Int64
        phaseBytes &+= bytes
    }

    mutating func decoded(_ bytes: Int) { timeline.bodyBytes &+= Int64(bytes) }  // safe: an Int is an Int64

    /// The failure after `deadline` has passed.
    ///
    /// - Parameter awaitsOpening: the queue waits for a connection that another attempt opens, and not for a place.
    func failure(_ now: NIODeadline, host: String, limit: Int, awaitsOpening: Bool = false) -> HTTPFailure {
        if totalEnd <= now {
            let what =
                switch phase {
                case .queue where awaitsOpening: "while waiting for the connection that another request is opening"
                case .queue: "while waiting for one of \(limit) connections"
                case .tls: "during \(Self.words(phase))"
                default: "while \(Self.words(phase))"
                }
            let text = "\(host) took more than \(Self.text(timeouts.whole ?? timeouts.total)) in all; it ended \(what)"
            return HTTPFailure(.timedOut, text, phase: .total)
        }
        if phase == .queue {
            let text =
                "\(host): no connection could be opened within \(Self.text(phaseSeconds)), since this client has its share "
                + "of all connections open (send fewer requests at once)"
            return HTTPFailure(.tooManyOpenFiles, text, phase: .queue)
        }
        if headEnd <= now {
            let what = phase == .firstByte ? Self.words(.firstByte) : "receiving the head of the response"
            let text = "\(host): \(what) took more than \(Self.text(timeouts.firstByte))"
            return HTTPFailure(.timedOut, text, phase: .firstByte)
        }
        if let rate = timeouts.minimumRate, phaseBytes > 0, phase == .request || phase == .response {
            let text = "\(host): in \(Self.text(phaseSeconds)) of \(Self.words(phase)) moved \(phaseBytes) bytes, "
            return HTTPFailure(.timedOut, text + "and minRate wants \(rate) a second", phase: phase)
        }
        let text = "\(host): \(Self.words(phase)) took more than \(Self.text(phaseSeconds))"
        return HTTPFailure(.timedOut, text, phase: phase)
    }

    private mutating func allow(_ seconds: Double?, from now: NIODeadline) {
        phaseBytes = 0
        timeLeft = nil
        phaseSeconds = seconds ?? 0
        phaseEnd = seconds.map { now + .seconds($0) } ?? .distantFuture
    }

    private mutating func close(at now: NIODeadline) {
        let duration = Duration.between(phaseBegan, now)
        switch phase {
        case .queue: timeline.queue = duration
        case .resolve: timeline.resolve = duration
        case .connect: timeline.connect = duration
        case .proxy: timeline.proxy = duration
        // an HTTPS proxy has a handshake of its own
        case .tls: timeline.tls = (timeline.tls ?? .zero) + duration
        case .request: timeline.request = duration
        case .firstByte: timeline.firstByte = duration
        case .response: timeline.response = duration
        case .total: break
        }
    }

    private static func words(_ phase: HTTPFailure.Phase) -> String {
        switch phase {
        case .queue: "waiting for a connection"
        case .resolve: "looking up the name"
        case .connect: "connecting"
        case .proxy: "asking the proxy"
        case .tls: "the TLS handshake"
        case .request: "sending the next part of the request"
        case .firstByte: "waiting for the first byte of the response"
        case .response: "waiting for the next part of the response"
        case .total: "ending"
        }
    }

    /// "5 s", "0.25 s".
    private static func text(_ seconds: Double) -> String {
        let whole = Int64(exactly: seconds)
        return "\(whole.map(String.init) ?? String(seconds)) s"
    }
}

extension Duration {
    static func between(_ one: NIODeadline, _ other: NIODeadline) -> Duration {
        .nanoseconds((other - one).nanoseconds)
    }
}
