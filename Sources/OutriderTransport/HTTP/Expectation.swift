// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Whether the body of an attempt waits for 100 Continue (RFC 9110 section 10.1.1).
struct Expectation {
    private enum State {
        case none
        /// Until the server responds, or the timer fires.
        case waiting(Scheduled<Void>)
        /// The server refused the expectation: the request is sent again without it.
        case refused
    }

    private var state = State.none
    private let isWanted: Bool

    init(_ attempt: Attempt) {
        if case .none = attempt.body { isWanted = false } else { isWanted = attempt.expectsContinue }
    }

    /// Whether the request has the field, and its body is held back.
    var isDeclared: Bool {
        if case .refused = state { false } else { isWanted }
    }

    var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }

    /// Many servers never send 100 Continue: after a second the body is sent anyway.
    mutating func wait(on loop: any EventLoop, _ goOn: @escaping () -> Void) {
        state = .waiting(loop.assumeIsolated().scheduleTask(in: .milliseconds(1000), goOn))
    }

    /// Returns whether the body was waiting.
    @discardableResult
    mutating func end() -> Bool {
        guard case .waiting(let alarm) = state else { return false }
        alarm.cancel()
        state = .none
        return true
    }

    mutating func refuse() {
        end()
        state = .refused
    }
}
