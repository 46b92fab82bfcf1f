// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// The memory of what long replies to callbacks leave behind.
extension CallbackRunner {
    /// The attempt with the changes of the reply, and the reply for further attempts. A long body is counted in the
    /// budget, or goes to a private file; then the memory of the reply's message is given back.
    func apply(
        _ reply: CallbackReply<AttemptChange>, to given: Attempt, keepsType: Bool = false
    ) async throws(HTTPFailure) -> (attempt: Attempt, change: AttemptChange) {
        var (attempt, change) = (given, reply.value)
        guard let charge = reply.charge else {
            try change.apply(to: &attempt, keepsType: keepsType)
            return (attempt, change)
        }
        defer { charge.release() }
        // encoding a long body takes long
        attempt = try await compute(for: quota.client) { [attempt, change] () throws(HTTPFailure) in
            var attempt = attempt
            try change.apply(to: &attempt, keepsType: keepsType)
            return attempt
        }
        guard change.hasBody else { return (attempt, change) }
        try await engine.hold(&attempt, quota: quota)
        change.keep(bodyOf: attempt)
        return (attempt, change)
    }
}

/// The memory of a reply's message, which lives as long as a value of the reply.
final class ReplyMemory: BodyHolder {
    private let charge: any PayloadCharge

    init(_ charge: any PayloadCharge) { self.charge = charge }
}
