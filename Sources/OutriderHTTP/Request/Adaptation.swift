// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One change to each attempt of a request, made just before it is sent. What can be checked and encoded beforehand is.
package enum Adaptation: Sendable, Equatable {
    case headers(FieldChanges)
    /// Appends to the query, percent-encoded as it is.
    case query(String)
    /// Says who asks, to those who may know.
    case credential(Credential)
    /// Compresses the body. Done by the engine, since it may take long.
    case compress(RequestCompression)
    /// The client's code of that name.
    case callback(String)
    /// The token of the credential of that name, to the origins that may know it; where it is required, the request goes
    /// nowhere else. Done by the engine, since there may be none yet.
    case oauth(String, isRequired: Bool)

    /// Makes the change, where that takes no time: not for `compress`, `callback` and `oauth`.
    ///
    /// - Parameter home: where the request went as it was asked for.
    package func apply(to attempt: inout Attempt, home: HTTPURL) {
        switch self {
        case .headers(let changes): changes.apply(to: &attempt.fields)
        case .query(let query): attempt.url.append(query: query)
        case .credential(let credential): credential.apply(to: &attempt, home: home)
        case .compress, .callback, .oauth: break
        }
    }

    /// What adapters made must be fit to be sent: a GET has no body, unless the request was permitted to have one.
    package static func check(_ attempt: Attempt, madeOf built: Attempt) throws(HTTPFailure) {
        guard attempt.body != .none, attempt.body != built.body || attempt.method != built.method else { return }
        if attempt.method == "GET" || attempt.method == "HEAD" {
            throw HTTPFailure(.bodyDataInGETRequest, "a \(attempt.method) request carries no body: use POST")
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
            underlying: cause.underlying, details: [.cause(cause)])
    }
}

extension [Adaptation] {
    /// Adds one at the end; neighbours that can be one become one, so that a long chain of rules costs little more than
    /// a short one.
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

    /// Takes credentials out of an attempt whose origin may not know them: an adapter after them, or a redirect, has led
    /// elsewhere.
    package func withholdCredentials(from attempt: inout Attempt, home: HTTPURL) {
        for case .credential(let credential) in self { credential.withhold(from: &attempt, home: home) }
    }
}
