// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The content of an event beside its topic and subject. Unmasked: secrets are masked when the event is written.
package enum MonitorDetail: Sendable {
    case nothing
    /// A request before sending; the attempt is 0 before the first.
    case request(Attempt, attempt: Int)
    /// An outcome; nil for success.
    case outcome(HTTPFailure?, attempt: Int)
    case attempt(Int)
    /// A phase of opening a connection begins.
    case phase(HTTPFailure.Phase, attempt: Int)
    /// Only the peer, TLS and the reuse of the connection are set in the timeline.
    case connection(Timeline, attempt: Int)
    /// The head of a response, or of an informational response, whose version is nil.
    case head(status: Int, version: String?, HTTPFields, attempt: Int)
    /// The progress of a body; nil if its length is unknown.
    case bytes(Int64, of: Int64?, attempt: Int)
    case timeline(Timeline, version: String?, attempt: Int)
    case redirect(RedirectHop, attempt: Int)
    case retry(delay: Double, HTTPFailure?, attempt: Int)
    case finish(Finish)
    /// A request body: "bytes", "file" or "composed", and its size if known.
    case upload(String, size: Int64?)
    /// A parsed body, for the response or for one of its handlers.
    case parsed(String, size: Int, handler: String?, HTTPFailure?)
    case handle(String, size: Int?)
    case callback(CallbackFacts)
    /// A credential by name, and why its refresh failed.
    case token(String, OAuthFailure?)
    /// The offered schemes, strongest first.
    case challenge([AuthenticationOffer], url: String, attempt: Int)
    case credential(Signature, attempt: Int)
    /// A partially written file, and its size so far.
    case partial(path: String, Int64, of: Int64?)
    case file(path: String, size: Int64)
    /// A stream, the bytes of a read or of an item, and the failure of that item.
    case item(stream: String, size: Int, HTTPFailure?)
    /// Refused cookies, and cookies that were not sent, without their values.
    case cookies([CookieChange], attempt: Int)
    case cache(CacheNote, attempt: Int)

    /// What a cache did for a request, or because of it.
    package struct CacheNote: Sendable {
        /// Nil for the cache of a session.
        package var name: String?
        package var url: String?
        package var status: CacheReport.Status?
        package var reason: String?
        /// Bytes of a body that was stored.
        package var size: Int?
        /// Number of evicted entries.
        package var count: Int?

        package init(
            name: String?, url: String? = nil, status: CacheReport.Status? = nil, reason: String? = nil,
            size: Int? = nil, count: Int? = nil
        ) {
            (self.name, self.url, self.status) = (name, url, status)
            (self.reason, self.size, self.count) = (reason, size, count)
        }
    }

    /// The end of a request.
    package struct Finish: Sendable {
        package var method: String
        package var url: String
        package var status: Int?
        package var attempts: Int
        package var redirects: Int
        /// Of the body, decoded.
        package var bytes: Int
        /// Seconds.
        package var total: Double
        package var failure: HTTPFailure?

        package init(
            method: String, url: String, status: Int?, attempts: Int, redirects: Int, bytes: Int, total: Double,
            failure: HTTPFailure?
        ) {
            self.method = method
            self.url = url
            self.status = status
            self.attempts = attempts
            self.redirects = redirects
            self.bytes = bytes
            self.total = total
            self.failure = failure
        }
    }

    /// A callback.
    package struct CallbackFacts: Sendable {
        /// The method of the callback, such as "callback.adapt".
        package var method: String
        /// The client's name for its code.
        package var name: String
        package var attempt: Int
        /// Seconds until the reply; nil while pending.
        package var seconds: Double?
        /// Why there is no reply.
        package var problem: String?
        /// The same for people; may quote the client's code.
        package var reason: String?

        package init(
            method: String, name: String, attempt: Int, seconds: Double? = nil, problem: String? = nil,
            reason: String? = nil
        ) {
            self.method = method
            self.name = name
            self.attempt = attempt
            self.seconds = seconds
            self.problem = problem
            self.reason = reason
        }
    }
}
