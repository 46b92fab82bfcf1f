// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// The steps before and after an attempt in which adapters and callbacks take part.
extension ExchangeDriver {
    /// Makes the attempt from the request, with all adapters from the first.
    func adapt() {
        given = [:]
        switch exchange.built {
        case .success(let built): adapt(built, of: built, from: 0, isChanged: false)
        case .failure(let failure): adaptationFailed(failure)
        }
    }

    /// - Parameter isChanged: whether a callback has changed the attempt: only a callback can choose another host.
    private func adapt(_ given: Attempt, of built: Attempt, from start: Int, isChanged: Bool) {
        let adaptations = exchange.plan?.plan.adaptations ?? []
        let isApart = exchange.download?.home(apart: built.url) != nil
        var attempt = given
        for index in adaptations.indices.dropFirst(start) {
            let adaptation = adaptations[index]
            if isApart, adaptation.isForHome { continue }
            guard adaptation.waits else {
                adaptation.apply(to: &attempt, home: built.url)
                continue
            }
            return wait(for: { [attempt] in await self.applied(adaptation, to: attempt, home: built.url) }) { result in
                switch result {
                case .success(let next):
                    self.adapt(next, of: built, from: index + 1, isChanged: isChanged || adaptation.isCallback)
                case .failure(let failure): self.adaptationFailed(Adaptation.failure(failure))
                }
            }
        }
        if isChanged {
            adaptations.withholdCredentials(from: &attempt, home: built.url)
            withholdTokens(from: &attempt)
        }
        attempt.takeExpectation()
        do throws(HTTPFailure) {
            try Adaptation.check(attempt, madeOf: built)
        } catch {
            return adaptationFailed(Adaptation.failure(error))
        }
        adapted(attempt)
    }

    private func applied(
        _ adaptation: Adaptation, to given: Attempt, home: HTTPURL
    ) async -> Result<Attempt, HTTPFailure> {
        var attempt = given
        do throws(HTTPFailure) {
            switch adaptation {
            case .callback(let name):
                let moment = moment(attempt, isNext: true)
                exchange.hold()
                defer { exchange.release() }
                if let delegate = exchange.delegate { attempt = try await delegate.adapt(name, moment) }
            case .compress(let compression):
                do throws(HTTPFailure) {
                    try await compression.apply(to: &attempt)
                } catch {
                    // an interceptor says so, not a parameter of the request
                    var failure = error
                    failure.pointer = nil
                    throw failure
                }
            case .oauth(let name, let isRequired):
                try await applyToken(of: name, isRequired: isRequired, to: &attempt, home: home)
            default: adaptation.apply(to: &attempt, home: home)
            }
            return .success(attempt)
        } catch {
            return .failure(error)
        }
    }

    private func adapted(_ attempt: Attempt) {
        self.attempt = attempt
        exchange.sends(attempt)
        let number = machine.attempts + 1
        exchange.tell(.requestAdapted) { .request(attempt, attempt: number) }
        guard exchange.become(.adapted) else { return proceed(machine.adapted()) }
        tell(.state(.adapted, at: .now)) { self.proceed(self.machine.adapted()) }
    }

    private func adaptationFailed(_ reason: HTTPFailure) {
        let failure = cancellation ?? reason
        let number = machine.attempts + 1
        exchange.tell(.requestAdaptationFailed) { .outcome(failure, attempt: number) }
        proceed(machine.failed(failure))
    }

    // MARK: validators

    func judge() {
        guard download?.isConfirmed != true, let delegate = exchange.delegate, let attempt else {
            return proceed(machine.judged())
        }
        let moment = moment(attempt)
        wait(for: { await self.judged(by: delegate, moment) }) { failure in
            self.proceed(failure.map { self.machine.failed($0) } ?? self.machine.judged())
        }
    }

    /// The failure if the head is not acceptable.
    private func judged(by delegate: any ExchangeDelegate, _ moment: ExchangeMoment) async -> HTTPFailure? {
        do throws(HTTPFailure) {
            exchange.hold()
            defer { exchange.release() }
            try await delegate.judge(moment)
            return nil
        } catch {
            // the client's own refusal needs no body that explains the failure
            let isRefusal = error.kind == .explicitlyCancelled
            if outlet != nil, !isRefusal, await keepRefused() { return error }
            if outlet == nil, let body = response?.body, body.expectedBytes != nil { await drain(body) }
            giveUp()
            return error
        }
    }

    func review() {
        guard let delegate = exchange.delegate, let attempt else { return proceed(machine.reviewed()) }
        let moment = moment(attempt, showsHead: download?.isConfirmed != true)
        wait(for: { await self.reviewed(by: delegate, moment) }) { result in
            switch result {
            case .success(let ofHandler): self.proceed(self.machine.reviewed(ofHandler))
            case .failure(let failure): self.proceed(self.machine.failed(failure))
            }
        }
    }

    /// The failure of a handler if the response is acceptable, or else the failure of the response.
    private func reviewed(
        by delegate: any ExchangeDelegate, _ moment: ExchangeMoment
    ) async -> Result<HTTPFailure?, HTTPFailure> {
        do throws(HTTPFailure) {
            exchange.hold()
            defer { exchange.release() }
            return .success(try await delegate.review(try await wholeBody(), moment))
        } catch {
            return .failure(error)
        }
    }
}

extension Adaptation {
    /// Whether applying the adaptation has to wait.
    fileprivate var waits: Bool {
        switch self {
        case .callback, .compress, .oauth: true
        default: false
        }
    }

    fileprivate var isCallback: Bool { if case .callback = self { true } else { false } }

    /// Whether the adaptation is for the origin that the caller requested alone.
    fileprivate var isForHome: Bool {
        switch self {
        case .headers, .query, .credential, .oauth: true
        case .compress, .callback: false
        }
    }
}
