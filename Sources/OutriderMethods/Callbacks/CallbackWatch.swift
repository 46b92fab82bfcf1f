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
        service.callbacks.asked()
        service.monitors.tell(.callbackAsked, subject) { .callback(question()) }
    }

    func answered() {
        let seconds = (ContinuousClock.now - began).seconds
        service.callbacks.answered(after: seconds)
        service.monitors.tell(.callbackAnswered, subject) { .callback(question(seconds)) }
    }

    func failed(_ error: RPCError) {
        let name = RPCError.Code(rawValue: error.code).map { "\($0)" } ?? "\(error.code)"
        service.callbacks.failed(name)
        service.monitors.tell(.callbackFailed, subject) {
            .callback(question((ContinuousClock.now - began).seconds, problem: name))
        }
    }

    private func question(_ seconds: Double? = nil, problem: String? = nil) -> MonitorDetail.Question {
        MonitorDetail.Question(
            method: kind.method, name: names.callback, attempt: names.attempt, seconds: seconds, problem: problem)
    }
}
