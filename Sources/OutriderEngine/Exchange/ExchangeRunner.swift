// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Carries one exchange to its end: asks the machine, does it, tells the machine.
struct ExchangeRunner: ~Copyable {
    private let exchange: Exchange
    private let observer: (any ExchangeObserver)?
    private let began = ContinuousClock.now
    private var answer: AttemptResponse?
    private var timelines: [Timeline] = []
    private var sink: BodySink
    private var limiter: ProgressLimiter?

    init(_ exchange: Exchange) {
        self.exchange = exchange
        observer = exchange.observer
        limiter = observer?.progressInterval.map { ProgressLimiter(interval: .seconds($0)) }
        sink = BodySink(
            exchange.destination, maxInline: exchange.maxInline,
            store: BodyStore(quota: exchange.quota, workspace: exchange.surroundings.workspace))
    }

    mutating func run() async {
        await observer?.heard(.state(.created, at: exchange.created))
        var machine = ExchangeMachine(exchange.request)
        var step = machine.start()
        while true {
            switch step {
            case .send(let attempt): step = await send(attempt, &machine)
            case .receive: step = await receive(&machine)
            case .finish(let failure):
                await finish(failure, attempts: machine.attempts)
                return
            }
        }
    }

    private mutating func send(_ attempt: Attempt, _ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        exchange.began(attempt: machine.attempts)
        if observer != nil { exchange.watch(attempt.timeouts.total) }
        do throws(HTTPFailure) {
            // cancelled before it was started: the task may not know it yet
            if let failure = exchange.cancellation { throw failure }
            let answer = try await exchange.surroundings.transport.send(attempt, observer: exchange)
            self.answer = answer
            let head = ExchangeHead(status: answer.status, version: answer.version, fields: answer.fields)
            exchange.answered(head, expecting: answer.body.expectedBytes)
            if let observer {
                await observer.heard(.state(.responded, at: .now))
                await observer.heard(.response(head, url: exchange.url, attempt: machine.attempts))
            }
            return machine.answered()
        } catch {
            return machine.failed(error)
        }
    }

    private mutating func receive(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        guard let body = answer?.body else { return machine.ended() }
        do throws(HTTPFailure) {
            sink.expect(body.expectedBytes)
            while let chunk = try await body.next() {
                try await sink.take(chunk)
                let progress = exchange.received(Int64(sink.size))
                if limiter != nil { await report(progress, isLast: false) }
            }
            timelines.append(body.timeline)
            return machine.ended()
        } catch {
            body.abandon()
            timelines.append(body.timeline)
            return machine.failed(error)
        }
    }

    /// Tells progress if it is time for it; the last in any case, unless it would be told twice.
    private mutating func report(_ progress: Progress, isLast: Bool) async {
        var progress = progress
        if isLast { progress.receivedTotal = progress.received }
        let elapsed = ContinuousClock.now - began
        guard let observer, limiter?.shouldTell(progress, now: elapsed) == true else { return }
        let event = ExchangeEvent.progress(
            ExchangeProgress(
                direction: .download, completed: progress.received, total: progress.receivedTotal,
                elapsed: elapsed.seconds))
        if isLast {
            await observer.heard(event)
        } else {
            observer.glimpsed(event)
        }
    }

    private mutating func finish(_ failure: HTTPFailure?, attempts: Int) async {
        var failure = failure
        var body = ExchangeOutcome.Body.none
        let size = sink.size
        let contentType = answer?.fields.first("Content-Type")
        if answer != nil {
            do throws(HTTPFailure) {
                body = try await sink.finish(keeping: exchange.keepsBody, contentType: contentType)
            } catch {
                failure = failure ?? error
            }
        }
        if limiter != nil, size > 0, failure == nil {
            await report(exchange.received(Int64(size)), isLast: true)
        }
        let outcome = ExchangeOutcome(
            url: exchange.url, method: exchange.method,
            head: answer.map { ExchangeHead(status: $0.status, version: $0.version, fields: $0.fields) },
            body: body, bodyBytes: size, isTruncated: answer != nil && failure != nil, failure: failure,
            attempts: attempts, timelines: timelines, total: (ContinuousClock.now - began).seconds)
        await exchange.end(outcome, observer)
    }
}

extension Duration {
    package var seconds: Double {
        let (seconds, attoseconds) = components
        // whole nanoseconds, whose decimal form is short
        return (Double(seconds) * 1e9 + Double(attoseconds / 1_000_000_000)) / 1e9
    }
}
