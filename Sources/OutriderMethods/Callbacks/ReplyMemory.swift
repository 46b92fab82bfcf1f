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
        _ reply: CallbackReply<AttemptChange>, to given: Attempt
    ) async throws(HTTPFailure) -> (attempt: Attempt, answer: AttemptChange) {
        var (attempt, answer) = (given, reply.value)
        guard let charge = reply.charge else {
            try answer.apply(to: &attempt)
            return (attempt, answer)
        }
        defer { charge.release() }
        // encoding a long body takes long
        attempt = try await compute(for: quota.client) { [attempt, answer] () throws(HTTPFailure) in
            var attempt = attempt
            try answer.apply(to: &attempt)
            return attempt
        }
        guard answer.hasBody else { return (attempt, answer) }
        try await engine.hold(&attempt, quota: quota)
        answer.keep(bodyOf: attempt)
        return (attempt, answer)
    }
}

/// The memory of a reply's message, which lives as long as a value of the reply.
final class ReplyMemory: BodyHolder {
    private let charge: any PayloadCharge

    init(_ charge: any PayloadCharge) { self.charge = charge }
}
