// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// Reports a callback to monitors, from the call to the reply or failure.
struct CallbackWatch {
    private let kind: CallbackKind
    private let names: CallbackSubject
    private let subject: MonitorSubject
    private let service: Service
    private let began = ContinuousClock.now

    init(_ kind: CallbackKind, _ names: CallbackSubject, _ owner: MonitorOwner, _ service: Service) {
        self.kind = kind
        self.names = names
        self.service = service
        subject = MonitorSubject(request: names.request, session: names.session, tag: names.tag, owner: owner)
        service.callbacks.sent()
        service.monitors.tell(.callbackAsked, subject) { .callback(facts()) }
    }

    func replied() {
        let seconds = (ContinuousClock.now - began).seconds
        service.callbacks.replied(after: seconds)
        service.monitors.tell(.callbackAnswered, subject) { .callback(facts(seconds)) }
    }

    func failed(_ error: RPCError) {
        let name = RPCError.Code(rawValue: error.code).map { "\($0)" } ?? "\(error.code)"
        service.callbacks.failed(name)
        service.monitors.tell(.callbackFailed, subject) {
            .callback(facts((ContinuousClock.now - began).seconds, problem: name, reason: error.message))
        }
    }

    private func facts(
        _ seconds: Double? = nil, problem: String? = nil, reason: String? = nil
    ) -> MonitorDetail.CallbackFacts {
        MonitorDetail.CallbackFacts(
            method: kind.method, name: names.callback, attempt: names.attempt, seconds: seconds, problem: problem,
            reason: reason)
    }
}
