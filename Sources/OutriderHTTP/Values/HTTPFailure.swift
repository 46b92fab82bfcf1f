// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Why network work failed, in which phase, and whether a retry could help.
///
/// ```swift
/// HTTPFailure(.connectionRefused, "127.0.0.1:1 refused the connection", phase: .connect)
/// ```
///
/// Programs branch on `kind`, which becomes the code of the contract, and read `details`; people read `message`.
/// Another failure that led here stands in `details` as a `cause`, an error of a library or the system in `underlying`.
///
/// A failure is a single reference, because every result and every step of a request has room for a failure. Copies
/// share their storage; a change to a shared failure copies the storage first.
package struct HTTPFailure: Error, Sendable {
    /// The storage; the members are described below.
    private struct Values: Equatable {
        var kind: Kind
        var message: String
        var phase: Phase?
        var retryable: Bool
        var sent: Sent
        var underlying: Underlying?
        var pointer: String?
        var details: [FailureDetail]
    }

    // proof: changed only through `values` of a failure with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var parts: Parts

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    /// The reason for programs. Setting a kind has the same exception as `init`.
    package var kind: Kind {
        get { parts.values.kind }
        set { values.kind = underlying?.isOutOfDescriptors == true ? .tooManyOpenFiles : newValue }
    }
    /// A sentence for people, naming host, phase or limit; no secrets, no query of a URL.
    package var message: String {
        get { parts.values.message }
        set { values.message = newValue }
    }
    /// The phase that failed; nil for a failure outside of the network.
    package var phase: Phase? {
        get { parts.values.phase }
        set { values.phase = newValue }
    }
    /// Whether the same request could succeed later.
    package var retryable: Bool {
        get { parts.values.retryable }
        set { values.retryable = newValue }
    }
    /// Whether the server may have seen the request.
    package var sent: Sent {
        get { parts.values.sent }
        set { values.sent = newValue }
    }
    /// The error of a library or the system; nil if the failure was found here.
    package var underlying: Underlying? {
        get { parts.values.underlying }
        set { values.underlying = newValue }
    }
    /// The faulty place in the caller's params, as an RFC 6901 pointer; nil if the fault is not in the params.
    package var pointer: String? {
        get { parts.values.pointer }
        set { values.pointer = newValue }
    }
    /// Details for programs beyond the kind.
    package var details: [FailureDetail] {
        get { parts.values.details }
        set { values.details = newValue }
    }

    /// - Parameters:
    ///   - kind: becomes `tooManyOpenFiles` if the underlying error is EMFILE or ENFILE: the file, host or server is
    ///     not at fault then.
    ///   - message: shortened by `Excerpt.sentence`.
    ///   - retryable: nil for the default of the kind.
    package init(
        _ kind: Kind, _ message: String, phase: Phase? = nil, retryable: Bool? = nil, sent: Sent = .notSent,
        underlying: Underlying? = nil, pointer: String? = nil, details: [FailureDetail] = []
    ) {
        let kind = underlying?.isOutOfDescriptors == true ? .tooManyOpenFiles : kind
        parts = Parts(
            Values(
                kind: kind, message: Excerpt.sentence(message), phase: phase,
                retryable: kind == .tooManyOpenFiles || retryable ?? kind.usuallyRetryable, sent: sent,
                underlying: underlying, pointer: pointer.map(Excerpt.pointer), details: details))
    }

    /// A body beyond the limit that the caller has set.
    package init(bodyFrom host: String, isLongerThan most: Int) {
        self.init(
            .limitExceeded,
            "the body from \(host) is longer than the \(most) bytes that maxBody allows (raise maxBody, or drop it)",
            phase: .response, sent: .sent)
    }

    /// A name, value or path for a message: its first 200 characters.
    package static func excerpt(_ text: String) -> String { text.excerpt }

    /// The phases of an attempt, in order; for `timedOut`, the wait that was too long.
    package enum Phase: String, Sendable, CaseIterable {
        /// Waiting for a connection.
        case queue
        /// Looking up the host.
        case resolve
        /// Connecting to the host, or to a proxy.
        case connect
        /// The handshake with a proxy.
        case proxy
        /// The handshake of TLS, and the verification of the server.
        case tls
        /// Sending the request.
        case request
        /// Waiting for the head of the response.
        case firstByte
        /// Receiving the response.
        case response
        /// The limit for the whole request, whatever the phase.
        case total
    }

    /// Whether the server may have seen the request, which decides if a repetition could do the work twice.
    package enum Sent: String, Sendable {
        /// The server has not acted on the request: nothing arrived, or the server says so (RFC 9113 section 8.7).
        case notSent
        /// The server may have seen the request, or a part of it.
        case maybeSent
        /// The server has seen the request.
        case sent
    }

    /// The error of a library or the system that led here.
    package struct Underlying: Sendable, Equatable {
        package enum Domain: String, Sendable { case posix, tls, dns, http, http2, json, callback, file }

        package var domain: Domain
        package var code: Int
        package var message: String

        package init(_ domain: Domain, _ code: Int, _ message: String) {
            self.domain = domain
            self.code = code
            self.message = message
        }

        /// Whether the process (EMFILE) or the system (ENFILE) has no file descriptor left.
        var isOutOfDescriptors: Bool { (domain == .posix || domain == .file) && (code == 24 || code == 23) }
    }
}

extension HTTPFailure: Equatable {
    package static func == (left: HTTPFailure, right: HTTPFailure) -> Bool {
        left.parts === right.parts || left.values == right.values
    }
}

/// A detail of a failure for programs, beside its kind; FailureData in the contract names each detail.
package enum FailureDetail: Sendable, Equatable {
    /// The status that was not acceptable.
    case status(Int)
    /// The acceptable media types, in alphabetical order.
    case acceptable([String])
    /// The received Content-Type.
    case contentType(String)
    /// The charset in which the text could not be decoded.
    case encoding(String)
    /// The file at fault.
    case path(String)
    /// The place of the fault in the response body, as an RFC 6901 pointer.
    case instancePointer(String)
    /// The wrapped failure.
    case cause(HTTPFailure)
    /// The failure that was to be retried.
    case originalError(HTTPFailure)
    /// The retrier's error, unchanged.
    case retryError(JSONValue)
    /// The client's own error, unchanged.
    case error(JSONValue)
    /// The file that should have been moved to the path.
    case source(String)
    /// The algorithm of a digest.
    case algorithm(String)
    /// The expected value: a digest, or the version of a resource.
    case expected(String)
    /// The value received instead.
    case actual(String)
    /// Required bytes in the file system.
    case needed(Int64)
    /// Available bytes.
    case available(Int64)
    /// The name of the credential that has no token.
    case credential(String)
    /// Why the token is missing.
    case oauth(OAuthFailure)
    /// The proxy, as host and port.
    case proxy(String)
    /// The fields of the refusing response.
    case headers(HTTPFields)
    /// The code of the received or sent Close frame.
    case closeCode(Int)
    /// The pins of the verified path, ready to be copied: of certificates or keys, the server's first.
    case pins([String])
    /// The TLS alert that the server sent, as its name in RFC 8446.
    case alert(String)
    /// The resume data for `download.resume`.
    case resumeData(String)
}
