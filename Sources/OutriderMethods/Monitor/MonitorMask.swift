// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// What is left out of what is told.
enum MonitorMask: Sendable {
    /// For whoever made the request: values with telling names, and credentials in URLs.
    case owner
    /// For the log, which others may read: no query of a URL at all, and values of well-known harmless fields only.
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

    /// What a user, a realm or a file is called.
    func name(_ text: String) -> String { self == .log ? SecretFields.mask : text }

    /// In the log without what a client's own code said, and without what programs may want to know beside the code.
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
    /// Whether its words may be those of a client's own code, or quote what a client wrote.
    fileprivate var isOfClient: Bool {
        switch self {
        case .invalidURL, .createURLRequestFailed, .customEncodingFailed, .customValidationFailed,
            .customSerializationFailed, .requestAdaptationFailed, .requestRetryFailed, .parametersDoNotFit:
            true
        default: false
        }
    }
}
