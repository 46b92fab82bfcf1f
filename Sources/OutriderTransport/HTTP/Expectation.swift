// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Whether the body of an attempt waits for 100 Continue (RFC 9110 section 10.1.1).
struct Expectation {
    private enum State {
        case none
        /// Until the server says something, or this has run.
        case waiting(Scheduled<Void>)
        /// The server would not have it: the request goes out again without.
        case refused
    }

    private var state = State.none
    private let isWanted: Bool

    init(_ attempt: Attempt) {
        if case .none = attempt.body { isWanted = false } else { isWanted = attempt.expectsContinue }
    }

    /// Whether the request says it, and its body is held back.
    var isDeclared: Bool {
        if case .refused = state { false } else { isWanted }
    }

    var isWaiting: Bool {
        if case .waiting = state { true } else { false }
    }

    /// Many servers never say 100 Continue: after a second the body goes out all the same.
    mutating func wait(on loop: any EventLoop, _ goOn: @escaping () -> Void) {
        state = .waiting(loop.assumeIsolated().scheduleTask(in: .milliseconds(1000), goOn))
    }

    /// Whether it was waiting.
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
