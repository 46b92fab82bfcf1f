// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// An attempt whose response is at hand: stored in the memory of a cache, or in a cassette that plays.
///
/// Gives what `CachedAttempt` and `StagedAttempt` would give, without their waits and their state.
// proof: everything runs on `loop`, one of the transport; the parts that other threads read do not change.
final class ReadyAttempt: PolledAttempt, AttemptResponseBody, @unchecked Sendable {
    enum Source {
        case cache(ReadyResponse)
        case cassette(AttemptScript.Head, PreparedScript, any AttemptObserver)
    }

    let loop: any EventLoop
    private let source: Source
    /// The pieces of the body that were taken.
    private var taken = 0

    init(from source: Source, on loop: any EventLoop) {
        self.source = source
        self.loop = loop
    }

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        switch source {
        case .cache(let ready):
            let head = ready.head
            var response = AttemptResponse(
                status: head.status, reason: head.reason, version: head.version, fields: head.fields, body: self)
            response.cache = head.cache
            ready.count()
            completion(.success(response))
        case .cassette(let head, _, let observer):
            observer.sending(self)
            completion(
                .success(
                    AttemptResponse(
                        status: head.status, reason: head.reason, version: head.version, fields: head.fields,
                        body: self)))
        }
    }

    func poll(
        _ completion: @escaping (Result<ByteBuffer?, HTTPFailure>) -> Void
    ) -> Result<ByteBuffer?, HTTPFailure>? {
        defer { taken &+= 1 }
        switch source {
        case .cache(let ready): return .success(taken == 0 && ready.size > 0 ? ready.body : nil)
        case .cassette(_, let script, _):
            let chunks = script.value.chunks
            return .success(taken < chunks.count ? ByteBuffer(bytes: chunks[taken].bytes) : nil)
        }
    }

    /// No work is under way, neither for the response nor for its body.
    func cancel() {}
    func abandon() {}

    var expectedBytes: Int64? {
        switch source {
        case .cache(let ready): Int64(ready.size)  // safe: an Int is an Int64
        case .cassette(let head, _, _): head.expectedBytes(to: "GET")
        }
    }

    var wireBytes: (got: Int64, of: Int64?)? { nil }
    var trailers: HTTPFields { [] }
    var timeline: Timeline { Timeline() }
}

/// The driver itself does not go on with a response while the exchange is suspended.
extension ReadyAttempt: AttemptControl {
    func hold() {}
    func release() {}
}

extension ReplayStage {
    /// An attempt with the recorded response for a plain GET that only its URL decides about; nil if more is to be done.
    func ready(
        for attempt: Attempt, observer: any AttemptObserver, on loop: any EventLoop
    ) -> ReadyAttempt? {
        guard attempt.method == "GET", attempt.body == .none, attempt.upgrade == nil, let tape, hasNoStubs,
            let script = tape.takeReady(for: attempt, min(CacheStore.hotBody, attempt.maximumBodyBytes ?? .max)),
            let head = script.value.head
        else { return nil }
        return ReadyAttempt(from: .cassette(head, script, observer), on: loop)
    }
}
