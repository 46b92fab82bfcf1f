// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// One change to each attempt of a request, made just before it is sent.
package enum Adaptation: Sendable {
    /// Sets these fields in place of those with the same names.
    case headers(HTTPFields)
    /// Adds these fields where the request has none of that name.
    case defaultHeaders(HTTPFields)
    /// Adds to the query.
    case query(JSONObject)
    /// The method in place of the request's.
    case method(String)
    /// The client's code of that name.
    case callback(String)

    package static func basic(user: String, password: String) -> Adaptation {
        .headers([HTTPFields.Field("Authorization", "Basic \(Base64.encode(Array("\(user):\(password)".utf8)))")])
    }

    package static func bearer(_ token: String) -> Adaptation {
        .headers([HTTPFields.Field("Authorization", "Bearer \(token)")])
    }

    /// Makes the change. Nothing happens where the client's code is to be asked.
    ///
    /// Throws what building a request throws: a field, a method or a value that may not be sent.
    package func apply(to attempt: inout Attempt) throws(HTTPFailure) {
        switch self {
        case .headers(let fields):
            try AttemptBuilder.check(fields)
            var names: [String] = []
            for field in fields.list where !names.contains(where: { HTTPFields.same($0, field.name) }) {
                names.append(field.name)
                attempt.fields.remove(field.name)
            }
            attempt.fields.list += fields.list
        case .defaultHeaders(let fields):
            try AttemptBuilder.check(fields)
            let own = attempt.fields
            attempt.fields.list += fields.list.filter { !own.contains($0.name) }
        case .query(let query):
            attempt.url.append(query: try QueryEncoding().encode(query, at: "/query"))
        case .method(let method):
            if let fault = FieldRules.fault(inMethod: method) { throw HTTPFailure(.createURLRequestFailed, fault) }
            attempt.method = method
        case .callback: break
        }
    }

    /// The name of the client's code that is to be asked; nil for a rule.
    package var callback: String? {
        if case .callback(let name) = self { name } else { nil }
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
