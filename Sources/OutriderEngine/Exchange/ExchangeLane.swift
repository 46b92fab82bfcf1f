// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Carries an exchange that nobody listens to, and that asks nobody, without a task: what the connection tells drives the
/// machine. Most requests are so, and a task costs more than their whole way through the transport.
///
/// What must wait for anything but the network (a suspension, a redirect, a body that is kept) goes on as a task, from
/// where it stands.
// proof: `cancel` only carries the reference to the loop; all else runs there until a task takes over, and then in that
// task.
final class ExchangeLane: @unchecked Sendable {
    private let exchange: Exchange
    private let transport: any Transport
    private let executor: LoopExecutor
    private var runner: ExchangeRunner
    private var machine: ExchangeMachine
    /// What is on the wire.
    private var sending: (any LoopAttempt)?

    /// Nil if an observer, a callback or a limit takes part in the exchange. On the loop of the transport only.
    init?(_ exchange: Exchange) {
        guard exchange.goesAlone else { return nil }
        self.exchange = exchange
        transport = exchange.surroundings.transport
        executor = exchange.surroundings.executors.current
        var runner = ExchangeRunner(exchange)
        machine = runner.makeMachine()
        self.runner = runner
    }

    func start() {
        exchange.state.withLock { $0.lane = self }
        go(runner.start(&machine))
    }

    /// Ends what is on the wire; from anywhere.
    func cancel() { executor.execute { self.sending?.cancel() } }

    private func go(_ step: ExchangeMachine.Step) {
        runner.entered(step, machine.attempts)
        switch step {
        case .send: send()
        case .receive: receive()
        case .finish(let failure): finish(failure)
        case .adapt, .judge, .review, .ask, .wait: handOver(step)
        }
    }

    private func handOver(_ step: ExchangeMachine.Step) {
        exchange.carry { await self.runner.run(&self.machine, from: step) }
    }

    private func send() {
        do throws(HTTPFailure) {
            guard let attempt = runner.attempt, exchange.authenticator == nil,
                try exchange.begin(attempt: machine.attempts)
            else { return handOver(.send) }
            runner.tellSending(attempt, machine.attempts)
            let sending = transport.make(attempt, observer: exchange)
            self.sending = sending
            sending.start { self.heard($0) }
        } catch {
            go(runner.failed(error, &machine))
        }
    }

    private func heard(_ result: Result<AttemptResponse, HTTPFailure>) {
        switch result {
        case .failure(let failure): go(runner.failed(failure, &machine))
        case .success(let answer):
            runner.tellAnswer(answer)
            let body = answer.body
            guard !RedirectPolicy.redirects(answer.status),
                exchange.answered(ExchangeHead(answer), expecting: body.expectedBytes, onWire: body.wireBytes?.of)
            else { return handOver(answer) }
            runner.answer = answer
            go(machine.answered())
        }
    }

    /// An answer that leads elsewhere, or that nobody may hear of yet.
    private func handOver(_ answer: AttemptResponse) {
        exchange.carry {
            guard let attempt = self.runner.attempt else { return }
            let step = await self.runner.heard(answer, to: attempt, &self.machine)
            await self.runner.run(&self.machine, from: step)
        }
    }

    private func receive() {
        guard let body = runner.answer?.body else { return go(machine.received()) }
        runner.sink.expect(body.expectedBytes)
        take(from: body)
    }

    private func take(from body: any AttemptResponseBody) {
        while let ready = sending?.poll({ if self.took($0, body) { self.take(from: body) } }) {
            guard took(ready, body) else { return }
        }
    }

    /// Whether to ask for more.
    private func took(_ result: Result<ByteBuffer?, HTTPFailure>, _ body: any AttemptResponseBody) -> Bool {
        switch result {
        case .success(let chunk?): return took(chunk, of: body)
        case .success(nil):
            runner.add(body.timeline)
            go(machine.received())
        case .failure(let failure):
            runner.giveUp()
            go(machine.failed(failure))
        }
        return false
    }

    private func took(_ chunk: ByteBuffer, of body: any AttemptResponseBody) -> Bool {
        guard runner.sink.takeAtOnce(chunk) else {
            exchange.carry {
                let step = await self.runner.receive(&self.machine, first: chunk)
                await self.runner.run(&self.machine, from: step)
            }
            return false
        }
        guard exchange.received(Int64(runner.sink.size), onWire: body.wireBytes?.got).goesOn else {
            exchange.carry {
                await self.exchange.untilResumed()
                await self.runner.run(&self.machine, from: .receive)
            }
            return false
        }
        return true
    }

    private func finish(_ failure: HTTPFailure?) {
        var body: ExchangeOutcome.Body? = ExchangeOutcome.Body.none
        if runner.answer != nil { body = runner.sink.finishAtOnce(keeping: exchange.keepsBody) }
        guard let body else { return handOver(.finish(failure)) }
        exchange.endUnheard(runner.outcome(body, failure, attempts: machine.attempts))
    }
}

extension Exchange {
    /// Whether nobody has to hear of it, or to be asked or waited for, while it is carried.
    fileprivate var goesAlone: Bool {
        guard plan == nil, proxyAuthenticator == nil, turns == nil, download == nil,
            destination == .inline || destination == .discard
        else {
            return false
        }
        return state.withLock { state in
            state.observer == nil && state.advisor == nil && state.outlet == nil && state.authenticator == nil
        }
    }
}
