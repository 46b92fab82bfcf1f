// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// A failure in a cassette.
enum CassetteFailure {
    private static let kinds: [String: HTTPFailure.Kind] = Dictionary(
        HTTPFailure.Kind.allCases.map { ("\($0)", $0) }, uniquingKeysWith: { first, _ in first })

    static func write(_ failure: HTTPFailure, _ writer: inout JSONWriter) {
        writer.member("kind", "\(failure.kind)")
        writer.member("message", failure.message)
        writer.member("phase", failure.phase?.rawValue)
        writer.member("retryable", failure.retryable)
        writer.member("sent", failure.sent.rawValue)
        guard let underlying = failure.underlying else { return }
        writer.member("underlying") { writer in
            writer.member("domain", underlying.domain.rawValue)
            writer.member("code", underlying.code)
            writer.member("message", underlying.message)
        }
    }

    static func read(_ json: JSONValue) -> HTTPFailure? {
        guard let object = json.object, let kind = object["kind"]?.string.flatMap({ kinds[$0] }) else { return nil }
        var failure = HTTPFailure(kind, object["message"]?.string ?? "the recorded attempt failed")
        failure.phase = object["phase"]?.string.flatMap { HTTPFailure.Phase(rawValue: $0) }
        failure.sent = object["sent"]?.string.flatMap { HTTPFailure.Sent(rawValue: $0) } ?? .notSent
        if case .bool(let flag)? = object["retryable"] { failure.retryable = flag }
        if let inner = object["underlying"]?.object,
            let domain = inner["domain"]?.string.flatMap({ HTTPFailure.Underlying.Domain(rawValue: $0) })
        {
            failure.underlying = .init(
                domain, inner["code"]?.integer.flatMap { Int(exactly: $0) } ?? 0, inner["message"]?.string ?? "")
        }
        return failure
    }

    /// What a browser writes where no response came.
    static func read(browser text: String, _ host: Substring) -> HTTPFailure {
        let known: [(String, HTTPFailure.Kind, HTTPFailure.Phase)] = [
            ("NAME_NOT_RESOLVED", .nameNotFound, .resolve), ("CONNECTION_REFUSED", .connectionRefused, .connect),
            ("TIMED_OUT", .timedOut, .firstByte), ("INTERNET_DISCONNECTED", .offline, .connect),
            ("ADDRESS_UNREACHABLE", .unreachable, .connect), ("CERT", .tlsHandshakeFailed, .tls),
            ("SSL", .tlsHandshakeFailed, .tls),
        ]
        let found = known.first { Array(text.utf8)[...].firstRange(of: Array($0.0.utf8)) != nil }
        return HTTPFailure(
            found?.1 ?? .connectionLost, "\(host) gave no response when this was recorded: \(text.excerpt)",
            phase: found?.2 ?? .firstByte)
    }
}
