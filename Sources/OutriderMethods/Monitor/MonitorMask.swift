// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The masking of notes, by reader.
enum MonitorMask: Sendable {
    /// For the request's own client: masks values with telling names, and credentials in URLs.
    case owner
    /// For the log, which others may read: masks the query of URLs, and all values but those of well-known harmless
    /// fields.
    case log

    func url(_ text: String) -> String {
        guard self == .log else { return Redaction.masked.url(text) }
        let text = Redaction.withoutCredentials(text)
        guard let mark = text.utf8.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return text
        }
        return text[..<mark] + "?" + SecretFields.mask
    }

    func fields(_ fields: HTTPFields) -> HTTPFields {
        guard self == .log else { return Redaction.masked.fields(fields) }
        return HTTPFields(
            fields.list.map { field in
                let isHarmless = Self.harmless.contains(field.name.lowercased())
                return HTTPFields.Field(field.name, isHarmless ? field.value : SecretFields.mask)
            })
    }

    /// Masks the name of a user, a realm or a file.
    func name(_ text: String) -> String { self == .log ? SecretFields.mask : text }

    /// For the log, leaves out messages from client code, and all details beside the code.
    func failure(_ failure: HTTPFailure) -> HTTPFailure {
        guard self == .log else { return failure }
        var shown = failure
        shown.details = []
        shown.underlying = nil
        shown.pointer = nil
        if failure.kind.isOfClient { shown.message = "see \(failure.kind.failureCode.kind.description)" }
        return shown
    }

    private static let harmless: Set<String> = [
        "accept", "accept-encoding", "accept-language", "accept-ranges", "age", "allow", "cache-control", "connection",
        "content-encoding", "content-length", "content-range", "content-type", "date", "expect", "expires",
        "keep-alive", "last-modified", "range", "retry-after", "server", "transfer-encoding", "user-agent", "vary",
    ]
}

extension HTTPFailure.Kind {
    /// Whether the message may come from the client's own code, or quote a client's text.
    fileprivate var isOfClient: Bool {
        switch self {
        case .invalidURL, .createURLRequestFailed, .customEncodingFailed, .customValidationFailed,
            .customSerializationFailed, .requestAdaptationFailed, .requestRetryFailed, .parametersDoNotFit:
            true
        default: false
        }
    }
}
