// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Whether the body of an attempt waits for 100 Continue (RFC 9110 section 10.1.1), or behind an early response.
struct Expectation: ~Copyable {
    private let isWanted: Bool
    /// The server refused the expectation: the request is sent again without it.
    private var isRefused = false
    /// The body waits until the server responds, or the alarm rings.
    private(set) var isWaiting = false
    private var alarm: Scheduled<Void>?

    init(_ attempt: Attempt) {
        // not without content (RFC 9110 section 10.1.1)
        isWanted = attempt.expectsContinue && attempt.body.size != 0
    }

    /// Whether the request has the field, and its body is held back.
    var isDeclared: Bool { isWanted && !isRefused }

    /// Many servers never send 100 Continue: after a second the body is sent anyway.
    static let patience = TimeAmount.milliseconds(1000)
    /// Longer than the second in which the page of a response that is not wanted may come.
    static let patienceBehindHead = TimeAmount.milliseconds(1500)

    /// Calling it again begins anew.
    mutating func wait(_ patience: TimeAmount, on loop: any EventLoop, _ goOn: @escaping () -> Void) {
        end()
        isWaiting = true
        alarm = loop.assumeIsolated().scheduleTask(in: patience, goOn)
    }

    /// Returns whether the body was waiting.
    @discardableResult
    mutating func end() -> Bool {
        guard isWaiting else { return false }
        isWaiting = false
        alarm?.cancel()
        alarm = nil
        return true
    }

    mutating func refuse() {
        end()
        isRefused = true
    }
}
