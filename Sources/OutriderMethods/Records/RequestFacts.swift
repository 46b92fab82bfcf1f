// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

extension RequestRecord {
    /// The current facts of the request. Includes its body up to `bodyBytes`, and only if the body is complete.
    func facts(bodyBytes: Int) async -> ExchangeFacts {
        let snapshot = exchange.snapshot
        var facts = ExchangeFacts(method: exchange.method, url: exchange.url)
        if case .success(let attempt) = exchange.shownRequest { facts.attempt = exchange.withCookies(attempt) }
        if let attempt = facts.attempt, attempt.hasCodedBody, case .bytes(let bytes) = attempt.body,
            bytes.count <= bodyBytes
        {
            facts.plainRequestBody = await PlainBody.decoded(bytes, attempt.fields, isWhole: true, most: bodyBytes)
        }
        facts.attempts = snapshot.attempts
        facts.redirects = snapshot.redirects
        facts.failure = snapshot.failure
        facts.head = snapshot.head.map(Self.head)
        facts.bodySize = Int(clamping: snapshot.progress.received)
        guard let outcome = exchange.outcome else { return facts }
        facts.head = outcome.head.map(Self.head)
        facts.failure = outcome.failure
        facts.bodySize = outcome.bodyBytes
        facts.timeline = outcome.timelines.last
        facts.total = outcome.total
        // only downloads have a suggested name
        if case .kept(let kept) = outcome.body, exchange.destination == .file || outcome.suggestedName != nil {
            facts.file = kept.path
        }
        facts.resumeBytes = outcome.resumeData?.utf8.count
        if outcome.bodyBytes <= bodyBytes { facts.body = await Self.body(of: outcome) }
        // no secret can be masked within an unknown coding
        if let body = facts.body, let head = outcome.head, !CassetteMask.reads(body, of: head.fields) {
            facts.body = nil
        }
        // a body is decoded already, unless the request forbids that
        if let body = facts.body, let head = outcome.head, head.status != 206, facts.attempt?.decodesContent == false {
            facts.body = await PlainBody.decoded(body, head.fields, isWhole: false, most: bodyBytes)
            facts.bodySize = facts.body?.count ?? facts.bodySize
        }
        return facts
    }

    private static func body(of outcome: ExchangeOutcome) async -> [UInt8]? {
        switch outcome.body {
        case .none: nil
        case .memory(let bytes, _): bytes
        case .kept(let kept): try? await kept.read(at: 0, count: kept.size)
        }
    }

    private static func head(_ head: ExchangeHead) -> ResponseHead {
        let digits = head.version.split(separator: ".").compactMap { Int($0) }
        let version = digits.count == 2 ? HTTPVersion(digits[0], digits[1]) : .http11
        return ResponseHead(status: head.status, reason: head.reason, version: version, fields: head.fields)
    }
}
