// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The time limits of a request that shares an exchange: the exchange itself has the limits of no single request then.
struct ReaderLimits {
    /// A moment, and the time for which the limits of the request stood still until then.
    struct Mark {
        var instant: ContinuousClock.Instant
        var held: Duration
    }

    /// The first wait for an exchange that may be shared.
    var began: Mark?
    /// Since when the head or the next piece of the body is waited for; nil while neither is.
    var silenceBegan: Mark?
    /// Seconds of earlier waits in which too few bytes came for the minimum rate.
    var waited = 0.0
    /// Bytes on the wire before these waits.
    var arrived: Int64 = 0
    /// The body, if it is not shared any more, and its bytes so far.
    fileprivate var body: (any AttemptResponseBody)?
    fileprivate var taken: Int64 = 0
    fileprivate var total: Scheduled<Void>?
    fileprivate var silence: (alarm: Scheduled<Void>, end: NIODeadline)?

    /// Whether the request has an alarm of its own.
    var isArmed: Bool { total != nil }

    mutating func disarm() {
        total?.cancel()
        silence?.alarm.cancel()
        (total, silence, silenceBegan, body) = (nil, nil, nil, nil)
    }

    /// The head has come.
    ///
    /// - Parameter body: of a response that is not shared; nil for a shared one.
    mutating func begin(reading body: (any AttemptResponseBody)?) {
        silenceBegan = nil
        self.body = isArmed ? body : nil
    }
}

extension CachedAttempt {
    /// The head of a response that may be shared is waited for.
    func awaitsHead() {
        let mark = mark
        limits.began = limits.began ?? mark
        limits.silenceBegan = mark
        (limits.waited, limits.arrived) = (0, 0)
    }

    /// The next piece of the body is waited for.
    func awaitsPiece() {
        guard limits.isArmed else { return }
        limits.silenceBegan = mark
        armSilence(in: attempt.timeouts.idle - limits.waited)
    }

    /// A piece of the body has come.
    ///
    /// - Parameter piece: of a body that is not shared; nil for a shared one.
    func pieceCame(_ piece: Piece? = nil) {
        switch piece {
        case .success(let bytes?): limits.taken &+= Int64(bytes.readableBytes)  // safe: an Int is an Int64
        case .success(nil), .failure: return disarm()
        case nil: break
        }
        guard let began = limits.silenceBegan else { return }
        limits.silenceBegan = nil
        limits.waited += seconds(since: began)
        let rate = Double(attempt.timeouts.minimumRate ?? 0)
        guard Double(arrived &- limits.arrived) >= rate * attempt.timeouts.idle else { return }
        (limits.waited, limits.arrived) = (0, arrived)
    }

    /// Bytes of the body on the wire so far.
    private var arrived: Int64 {
        if case .flight(let flight, _) = source { return flight.arrived }
        return limits.body?.wireBytes?.got ?? limits.taken
    }

    /// The request has limits of its own from now on: its time counts from its first wait, however many exchanges it waits
    /// for.
    func limitTime() {
        guard !limits.isArmed else { return }
        limits.began = limits.began ?? mark
        armTotal(in: secondsLeft)
        if joined != nil { return armSilence(in: attempt.timeouts.firstByte) }
        guard case .flight(let flight, _) = source, waiting != nil else { return }
        limits.arrived = flight.arrived
        awaitsPiece()
    }

    // MARK: alarms

    /// An alarm that comes early is set again after so many seconds at least: the request was suspended, or still is.
    private static var pause: Double { 0.25 }

    private func armTotal(in seconds: Double) {
        limits.total = loop.scheduleTask(in: .milliseconds(Self.milliseconds(seconds))) {
            let left = self.secondsLeft
            if left > 0.001 { return self.armTotal(in: max(left, Self.pause)) }
            let text = "the response from \(self.attempt.url.host) took longer than \(self.attempt.timeouts.total) s"
            self.stop(HTTPFailure(.timedOut, text, phase: .total, sent: .sent))
        }
    }

    private func armSilence(in seconds: Double) {
        let end = NIODeadline.now() + .milliseconds(Self.milliseconds(seconds))
        // an alarm that comes earlier is set again then
        if let armed = limits.silence, armed.end <= end { return }
        limits.silence?.alarm.cancel()
        let alarm: Scheduled<Void> = loop.scheduleTask(deadline: end) {
            self.limits.silence = nil
            guard let left = self.silenceLeft else { return }
            if left > 0.001 { return self.armSilence(in: max(left, Self.pause)) }
            self.stop(self.silenceFailure)
        }
        limits.silence = (alarm, end)
    }

    private var secondsLeft: Double { attempt.timeouts.total - (limits.began.map { seconds(since: $0) } ?? 0) }

    /// The seconds for which the server may go on to be silent; nil if nothing is waited for.
    private var silenceLeft: Double? {
        guard let began = limits.silenceBegan else { return nil }
        let silent = seconds(since: began)
        if let flight = joined?.flight {
            // the time limits of a connection are those of the request that opens it
            guard let asked = flight.observer.askedAt else { return attempt.timeouts.firstByte }
            return attempt.timeouts.firstByte - min(silent, (ContinuousClock.now - asked).seconds)
        }
        if case .inner = source { return attempt.timeouts.idle - limits.waited - silent }
        guard case .flight(let flight, _) = source, waiting != nil else { return nil }
        // another reader is so slow that the server has to wait
        if !flight.awaitsServer { limits.silenceBegan = mark }
        return attempt.timeouts.idle - limits.waited - (flight.awaitsServer ? silent : 0)
    }

    private var silenceFailure: HTTPFailure {
        let (host, timeouts) = (attempt.url.host, attempt.timeouts)
        if joined != nil {
            let text = "\(host): waiting for the first byte of the response took more than \(timeouts.firstByte) s"
            return HTTPFailure(.timedOut, text, phase: .firstByte, sent: .sent)
        }
        let moved = arrived &- limits.arrived
        guard let rate = timeouts.minimumRate, moved > 0 else {
            let text = "\(host): waiting for the next part of the response took more than \(timeouts.idle) s"
            return HTTPFailure(.timedOut, text, phase: .response, sent: .sent)
        }
        let text =
            "\(host): in \(timeouts.idle) s of waiting for the next part of the response moved \(moved) bytes, and"
            + " minRate wants \(rate) a second"
        return HTTPFailure(.timedOut, text, phase: .response, sent: .sent)
    }

    private var mark: ReaderLimits.Mark { ReaderLimits.Mark(instant: .now, held: held) }

    private func seconds(since mark: ReaderLimits.Mark) -> Double {
        (ContinuousClock.now - mark.instant - (held - mark.held)).seconds
    }

    /// The time for which the limits of the request stood still.
    var held: Duration { (observer as? any CacheWatcher)?.heldSoFar ?? .zero }
}
