// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A change to each attempt of a request, made just before sending. Checks and encoding happen in advance where
/// possible.
package enum Adaptation: Sendable, Equatable {
    case headers(FieldChanges)
    /// Appends to the query, already percent-encoded.
    case query(String)
    /// Sends a credential to its origins.
    case credential(Credential)
    /// Compresses the body. Done by the engine, since compression may take long.
    case compress(RequestCompression)
    /// The client's code of that name.
    case callback(String)
    /// Sends the named credential's token to its origins; if required, requests to other origins fail. Done by the
    /// engine, since a token may have to be requested first.
    case oauth(String, isRequired: Bool)

    /// Makes the change, if immediate: not for `compress`, `callback` and `oauth`.
    ///
    /// - Parameter home: the request's original URL.
    package func apply(to attempt: inout Attempt, home: HTTPURL) {
        switch self {
        case .headers(let changes): changes.apply(to: &attempt.fields)
        case .query(let query): attempt.url.append(query: query)
        case .credential(let credential): credential.apply(to: &attempt, home: home)
        case .compress, .callback, .oauth: break
        }
    }

    /// Checks an adapted attempt: a GET has no body, unless the request was permitted a body.
    package static func check(_ attempt: Attempt, madeOf built: Attempt) throws(HTTPFailure) {
        guard attempt.body != .none, attempt.body != built.body || attempt.method != built.method else { return }
        if attempt.method == "GET" || attempt.method == "HEAD", !built.allowsGetBody {
            throw HTTPFailure(
                .bodyDataInGETRequest, "a \(attempt.method) request carries no body: use POST, or say allowGetBody")
        }
        if attempt.method == "TRACE" {
            throw HTTPFailure(.createURLRequestFailed, "a TRACE request never carries a body")
        }
    }

    /// The failure of an attempt that could not be adapted.
    package static func failure(_ cause: HTTPFailure) -> HTTPFailure {
        let isOther = cause.kind == .requestAdaptationFailed || cause.kind == .customEncodingFailed
        guard !isOther, !cause.kind.isEnd else { return cause }
        return HTTPFailure(
            .requestAdaptationFailed, "the request could not be adapted: \(cause.message)",
            retryable: cause.retryable, underlying: cause.underlying, details: [.cause(cause)])
    }
}

extension [Adaptation] {
    /// Appends an adaptation; adjacent ones are merged where possible, so that long chains of rules stay cheap.
    package mutating func add(_ adaptation: Adaptation) {
        switch (last, adaptation) {
        case (.headers(var changes)?, .headers(let later)):
            changes.append(later)
            self[count - 1] = .headers(changes)
        case (.query(let text)?, .query(let more)):
            self[count - 1] = .query(text.isEmpty || more.isEmpty ? text + more : "\(text)&\(more)")
        default: append(adaptation)
        }
    }

    /// Removes credentials from an attempt to an origin that may not know them, after a later adapter or a redirect
    /// changed the URL.
    package func withholdCredentials(from attempt: inout Attempt, home: HTTPURL) {
        for case .credential(let credential) in self { credential.withhold(from: &attempt, home: home) }
    }
}
