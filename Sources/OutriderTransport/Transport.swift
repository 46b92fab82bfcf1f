// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// The interface between the decisions about a request and the network: carries an attempt, returns the head of its
/// response and a body to pull.
package protocol Transport: Sendable {
    /// The event loop of an attempt that is made now: the caller's, if that belongs to the transport.
    var loop: any EventLoop { get }
    /// The event loop of attempts that share state: flights of a cache, connections of a session.
    var sharedLoop: any EventLoop { get }

    /// An attempt that has not begun. On `loop` only.
    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt
}

/// An attempt driven by completions, on the transport's event loop only.
///
/// Every wait is limited by the attempt's timeouts.
package protocol LoopAttempt: AnyObject {
    /// Begins the attempt, once. `completion` is called once, perhaps before this returns: with the head of a final
    /// response (not 1xx), while the body of the request may still be moving, or with the failure. The body of the
    /// response is pulled with `poll`.
    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void)

    /// The next piece of the body, nil after the last. Returns nothing, and calls `completion` later, if the piece has
    /// not arrived yet.
    func poll(_ completion: @escaping (Result<ByteBuffer?, HTTPFailure>) -> Void) -> Result<ByteBuffer?, HTTPFailure>?

    /// Ends the attempt at any point: its stream over HTTP/2, its connection over HTTP/1.1.
    func cancel()
}

extension Transport {
    package var sharedLoop: any EventLoop { loop }

    /// Carries an attempt for a task: returns when the head of a final response has arrived. From any thread.
    ///
    /// Cancelling the task ends the attempt at any point.
    package func send(
        _ attempt: Attempt, observer: any AttemptObserver
    ) async throws(HTTPFailure) -> AttemptResponse {
        let loop = loop
        let awaited = AwaitedAttempt()
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: AwaitedAttempt.Continuation) in
                let start = { @Sendable in awaited.start(self.make(attempt, observer: observer), continuation) }
                if loop.inEventLoop { start() } else { loop.execute(start) }
            }
        } onCancel: {
            loop.execute { awaited.cancel() }
        }.get()
    }
}

/// An attempt that a task waits for.
// proof: everything is done on the event loop of the attempt; other threads only carry the reference.
private final class AwaitedAttempt: @unchecked Sendable {
    typealias Continuation = UnsafeContinuation<Result<AttemptResponse, HTTPFailure>, Never>

    private var attempt: (any LoopAttempt)?
    private var isCancelled = false

    func start(_ attempt: any LoopAttempt, _ continuation: Continuation) {
        self.attempt = attempt
        if isCancelled { attempt.cancel() }
        attempt.start { continuation.resume(returning: $0) }
    }

    func cancel() {
        isCancelled = true
        attempt?.cancel()
    }
}

/// Observes the progress of an attempt, on the transport's event loop; must return quickly.
package protocol AttemptObserver: AnyObject, Sendable {
    /// The attempt has a connection and its head is about to be written; `hold` delays the write until `release`.
    func sending(_ control: any AttemptControl)
    /// The attempt waits for a connection, or opens one: `hold` stops its timeouts until `release`. `sending` follows.
    func waiting(_ control: any AttemptControl)
    /// The attempt waits: no connection is available, and no place for a new connection.
    func queued()
    /// A phase of opening a connection begins: resolve, connect, proxy or tls.
    func connecting(_ phase: HTTPFailure.Phase)
    /// A callback to a client, about the server or a key, begins or ends; timeouts stop meanwhile.
    func callbackRuns(_ isCallbackRunning: Bool)
    /// A connection carries the attempt; the timeline names the connection.
    func connected(_ timeline: Timeline)
    /// The kernel has taken `bytes` bytes of the request's body in total, counted before compression. `onWire`: the
    /// bytes after compression; nil without compression.
    func bodySent(_ bytes: Int64, onWire: Int64?)
    /// The request's body is complete.
    func bodyEnded()
    /// The head of a 1xx response other than 101.
    func informational(_ head: ResponseHead)
    /// The transport sends the attempt once more, unseen by its exchange, after the server may have seen it: the attempt
    /// with another Digest proof, or without a proof.
    func sendsAgain(_ attempt: Attempt) -> Attempt
    /// The attempt ended without a response, with this timeline.
    func gaveUp(_ timeline: Timeline)
    /// The attempt ended within its body, at a moment when no reader waited for the next piece. The reader gets the
    /// failure with the first piece that is not there.
    func endedUnread(_ failure: HTTPFailure)
}

extension AttemptObserver {
    package func waiting(_ control: any AttemptControl) {}
    package func queued() {}
    package func connecting(_ phase: HTTPFailure.Phase) {}
    package func callbackRuns(_ isCallbackRunning: Bool) {}
    package func connected(_ timeline: Timeline) {}
    package func gaveUp(_ timeline: Timeline) {}
    package func endedUnread(_ failure: HTTPFailure) {}
    package func bodyEnded() {}
    package func sendsAgain(_ attempt: Attempt) -> Attempt { attempt.unproved }
}

extension AttemptResponseBody {
    package var wireBytes: (got: Int64, of: Int64?)? { nil }
}

/// Suspends a running attempt: nothing is written or read, and its timeouts stop.
///
/// May be called from any thread; takes effect on the transport's event loop.
package protocol AttemptControl: AnyObject, Sendable {
    func hold()
    func release()
    /// Others wait for the response, too, and each limits its own time: from now on only long limits of silence end the
    /// attempt.
    func lift()
}

extension AttemptControl {
    package func lift() {}
}

/// The head of a response, with the body still to come.
///
/// Copies share their storage; a change to a shared response copies the storage first.
package struct AttemptResponse: Sendable {
    private var parts: Parts

    package init(status: Int, reason: String, version: String, fields: HTTPFields, body: any AttemptResponseBody) {
        parts = Parts(Values(status: status, reason: reason, version: version, fields: fields, body: body))
    }

    private struct Values {
        let status: Int
        let reason: String
        let version: String
        var fields: HTTPFields
        let body: any AttemptResponseBody
        var cache: CacheReport?
    }

    // proof: changed only through `values` of a response with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    package var status: Int { parts.values.status }
    package var reason: String { parts.values.reason }
    /// "1.0", "1.1" or "2".
    package var version: String { parts.values.version }
    package var fields: HTTPFields {
        get { parts.values.fields }
        set { values.fields = newValue }
    }
    package var body: any AttemptResponseBody { parts.values.body }
    /// The cache's part in the response; nil if the request has no cache.
    package var cache: CacheReport? {
        get { parts.values.cache }
        set { values.cache = newValue }
    }
}

/// The decoded body of a response, pulled chunk by chunk: only as much is read from the network as the caller pulls.
package protocol AttemptResponseBody: AnyObject, Sendable {
    /// The declared length in bytes on the wire; nil if not declared, or hidden by a content coding.
    var expectedBytes: Int64? { get }

    /// The next chunk, or nil at the end. A single caller at a time. A truncated or malformed body throws; such a body
    /// never ends normally.
    func next() async throws(HTTPFailure) -> ByteBuffer?

    /// Received and total bytes on the wire, if the body is compressed; else nil. Available on the transport's event
    /// loop only.
    var wireBytes: (got: Int64, of: Int64?)? { get }

    /// Trailer fields, known after the end.
    var trailers: HTTPFields { get }

    /// The timeline so far; complete after the end.
    var timeline: Timeline { get }

    /// Ends the stream early: resets the stream of HTTP/2, closes the connection of HTTP/1.1, unless the body has
    /// ended. No effect afterwards.
    func abandon()
}
