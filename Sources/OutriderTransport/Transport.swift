// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// The seam between the decisions about a request and the network: carries one attempt, gives the head of its response
/// and a body to pull.
package protocol Transport: Sendable {
    /// The event loop to which an attempt belongs that is made now: the caller's, if the transport has it.
    var loop: any EventLoop { get }

    /// An attempt that has not begun. On `loop` only.
    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt
}

/// An attempt driven by completions. All of it belongs to the transport's event loop.
///
/// Every wait is bounded by the attempt's timeouts.
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

/// Hears how an attempt goes on, on the transport's event loop; must return quickly.
package protocol AttemptObserver: Sendable {
    /// The attempt has a connection and its head is about to be written; held, it is written when it goes on.
    func sending(_ control: any AttemptControl)
    /// There is no connection for it, and no place for one: it waits.
    func queued()
    /// A phase of opening a connection for it begins: resolve, connect, proxy or tls.
    func connecting(_ phase: HTTPFailure.Phase)
    /// Code of a client is called about the server or about a key, and no time passes meanwhile; or that is over.
    func asks(_ isAsking: Bool)
    /// A connection carries it; the timeline says which one.
    func connected(_ timeline: Timeline)
    /// So many bytes of the request's body have been taken by the kernel, in all, counted before compression; on the wire
    /// they were so many, nil if that is the same.
    func bodySent(_ bytes: Int64, onWire: Int64?)
    /// There are no more.
    func bodyEnded()
    /// A 1xx answer other than 101.
    func informational(status: Int, fields: HTTPFields)
    /// The attempt ended without an answer; what is known of its times.
    func gaveUp(_ timeline: Timeline)
}

extension AttemptObserver {
    package func queued() {}
    package func connecting(_ phase: HTTPFailure.Phase) {}
    package func asks(_ isAsking: Bool) {}
    package func connected(_ timeline: Timeline) {}
    package func gaveUp(_ timeline: Timeline) {}
    package func bodyEnded() {}
}

extension AttemptResponseBody {
    package var wireBytes: (got: Int64, of: Int64?)? { nil }
}

/// Holds up an attempt that is under way: it writes and reads nothing, and its timeouts stand still.
///
/// May be called from anywhere; takes effect on the transport's event loop.
package protocol AttemptControl: AnyObject, Sendable {
    func hold()
    func release()
}

/// The head of an answer, with the body still to come.
package struct AttemptResponse: Sendable {
    package var status: Int
    package var reason: String
    /// "1.0", "1.1" or "2".
    package var version: String
    package var fields: HTTPFields
    package let body: any AttemptResponseBody
    /// What a cache did for the response; nil if the request has none.
    package var cache: CacheReport?

    package init(status: Int, reason: String, version: String, fields: HTTPFields, body: any AttemptResponseBody) {
        self.status = status
        self.reason = reason
        self.version = version
        self.fields = fields
        self.body = body
    }
}

/// The body of an answer, decoded, pulled chunk by chunk: what is not pulled is not read from the network.
package protocol AttemptResponseBody: Sendable {
    /// The length that the answer declared, in bytes on the wire; nil if it did not, or if a content coding hides it.
    var expectedBytes: Int64? { get }

    /// The next chunk, or nil at the end. One caller at a time. A truncated or malformed body throws; it never just ends.
    func next() async throws(HTTPFailure) -> ByteBuffer?

    /// How much has come on the wire, and of how much, where the body is compressed; nil where it is not. Known on the
    /// transport's event loop.
    var wireBytes: (got: Int64, of: Int64?)? { get }

    /// Trailer fields, known after the end.
    var trailers: HTTPFields { get }

    /// What is known of the times so far; complete after the end.
    var timeline: Timeline { get }

    /// Gives up: the stream is reset, or the connection of HTTP/1.1 closed, unless the body had ended. Harmless afterwards.
    func abandon()
}
