// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// What stands between the requests of a session and the network: stubs.
package final class ReplayStage: Sendable {
    /// What becomes of an attempt.
    enum Course: Sendable {
        case script(AttemptScript)
        case network
    }

    private let stubs = Mutex(StubTable())

    package init() {}

    /// Reads and changes the stubs.
    package func withStubs<Value: Sendable, Failure: Error>(
        _ work: (inout StubTable) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try stubs.withLock { stubs throws(Failure) in try work(&stubs) }
    }

    /// Decides about an attempt whose body is known.
    func course(of attempt: Attempt, _ body: [UInt8]) -> Course {
        let request = ReplayRequest(attempt, body: body)
        let verdict = stubs.withLock { stubs -> StubTable.Verdict in
            if stubs.isEmpty, stubs.unmatched == nil { return .pass }
            return stubs.take(request, shown: Self.shown(request), at: WallTime.now.milliseconds, passes: false)
        }
        switch verdict {
        case .reply(let reply, _): return .script(AttemptScript(reply, for: attempt))
        case .pass: return .network
        case .miss(let failure):
            var script = AttemptScript()
            script.failure = failure
            return .script(script)
        }
    }

    /// The request without its secrets.
    private static func shown(_ request: ReplayRequest) -> ReplayRequest {
        ReplayRequest(
            method: request.method, url: Redaction.masked.url(request.url),
            fields: Redaction.masked.fields(request.fields),
            body: Redaction.masked.body(request.body, contentType: request.contentType))
    }
}
