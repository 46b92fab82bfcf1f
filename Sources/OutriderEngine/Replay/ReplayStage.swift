// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// What stands between the requests of a session and the network: stubs, then a cassette.
package final class ReplayStage: Sendable {
    /// What becomes of an attempt.
    enum Course: Sendable {
        case script(AttemptScript)
        case fail(HTTPFailure)
        case record(Recording)
        case network
    }

    private let stubs = Mutex(StubTable())
    private let shelf: Mutex<Tape?>
    /// Gets the requests that this stage has nothing for; nil for the network.
    private let base: ReplayStage?

    /// Nothing reaches the network that neither a stub nor a cassette is for.
    private let isClosed: Bool

    /// - Parameter isClosed: without a cassette and stubs, requests fail.
    package init(_ tape: Tape? = nil, over base: ReplayStage? = nil, isClosed: Bool = false) {
        self.isClosed = isClosed
        shelf = Mutex(tape)
        self.base = base
    }

    /// Reads and changes the stubs.
    package func withStubs<Value: Sendable, Failure: Error>(
        _ work: (inout StubTable) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try stubs.withLock { stubs throws(Failure) in try work(&stubs) }
    }

    /// The cassette; nil if there is none.
    package var tape: Tape? { shelf.withLock { $0 } }

    /// Puts a cassette in. False if there is one already.
    package func put(_ tape: Tape) -> Bool {
        shelf.withLock { shelf in
            guard shelf == nil else { return false }
            shelf = tape
            return true
        }
    }

    /// Takes the cassette out.
    package func eject() -> Tape? {
        shelf.withLock { shelf in
            defer { shelf = nil }
            return shelf
        }
    }

    /// Whether the cassette alone has responses, so that no credential is needed and none is refreshed.
    func playsOnly(_ url: String) -> Bool {
        guard let tape else { return base?.playsOnly(url) ?? isClosed }
        return tape.covers(url) ? tape.isClosed : base?.playsOnly(url) ?? false
    }

    /// Whether a response is left for the attempt.
    func has(_ attempt: Attempt) -> Bool {
        let body: [UInt8] = if case .bytes(let bytes) = attempt.body { bytes } else { [] }
        return tape.map { $0.has(ReplayRequest(attempt, body: body)) } ?? base?.has(attempt) ?? false
    }

    /// For messages of WebSockets that are compared with recorded ones.
    var mask: CassetteMask { tape?.state.withLock { $0.mask } ?? base?.mask ?? CassetteMask() }

    /// Of the recorded waits.
    var factor: Double {
        guard let tape else { return base?.factor ?? 0 }
        return if case .factor(let factor) = tape.settings.timing { factor } else { 0 }
    }

    /// Decides about an attempt whose body is known.
    func course(of attempt: Attempt, _ body: [UInt8]) -> Course {
        let request = ReplayRequest(attempt, body: body)
        let tape = tape
        let verdict = stubs.withLock { stubs -> StubTable.Verdict in
            if stubs.isEmpty, stubs.unmatched == nil, !isClosed || tape != nil { return .pass }
            return stubs.take(
                request, shown: Self.shown(request), at: WallTime.now.milliseconds, passes: tape != nil || base != nil)
        }
        switch verdict {
        case .reply(let reply, _): return .script(AttemptScript(reply, for: attempt))
        case .pass:
            if let tape, tape.covers(request.url) { return tape.course(of: attempt, request) }
            return base?.course(of: attempt, body) ?? .network
        case .miss(let failure): return .fail(failure)
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
