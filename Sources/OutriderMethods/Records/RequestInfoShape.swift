// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The current state of a request: the RequestInfo of the contract.
struct RequestInfoShape: ObjectShape {
    var record: RequestRecord
    var snapshot: Exchange.Snapshot

    /// Masks the request's secrets for connections that did not give them.
    private let redaction: Redaction

    init(_ record: RequestRecord, for scope: ClientScope) {
        self.record = record
        redaction = record.redaction(for: scope)
        snapshot = record.exchange.snapshot
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("request", record.handle)
        writer.member("state", snapshot.phase.rawValue)
        writer.member("method", record.exchange.method)
        writer.member("url", redaction.url(record.exchange.url))
        writer.member("tag", record.tag)
        writer.member("name", record.label)
        writer.member("attempts", snapshot.attempts)
        writer.member("retries", snapshot.retries)
        writer.member("created", TimeShape(record.exchange.created))
        writer.member("detached", record.isDetached)
        writer.member("progress") { writer in
            writer.member("sent", snapshot.progress.sent)
            writer.member("sentTotal", snapshot.progress.sentTotal)
            writer.member("received", snapshot.progress.received)
            writer.member("receivedTotal", snapshot.progress.receivedTotal)
        }
        if let head = snapshot.head {
            writer.member("response") { writer in
                writer.member("status", head.status)
                writer.member("headers", FieldsShape(redaction.fields(head.fields)))
            }
        }
        encodeHistory(to: &writer)
        if let failure = snapshot.failure { writer.member("error", FailureShape(failure)) }
        if case .none = redaction { writer.member("resumeData", record.exchange.outcome?.resumeData) }
    }
    /// Writes the attempts, redirects and times so far.
    private func encodeHistory(to writer: inout JSONWriter) {
        if !snapshot.redirects.isEmpty {
            writer.member("redirects", snapshot.redirects.map { RedirectShape(redaction.hop($0)) })
        }
        if snapshot.attempts > 0, case .success(let last) = record.exchange.shownRequest {
            writer.name("requests")
            writer.array { writer in
                for sent in snapshot.earlier { encode(sent, to: &writer) }
                guard !snapshot.isBetweenAttempts else { return }
                let current = SentRequest(
                    attempt: snapshot.attempts, method: last.method, url: last.url.description,
                    status: snapshot.head?.status)
                encode(current, to: &writer)
            }
        }
        guard !snapshot.timelines.isEmpty else { return }
        writer.member(
            "metrics", snapshot.timelines.map { TimelineShape(timeline: $0, version: snapshot.head?.version) })
    }

    private func encode(_ sent: SentRequest, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("attempt", sent.attempt)
            writer.member("method", sent.method)
            writer.member("url", redaction.url(sent.url))
            writer.member("status", sent.status)
        }
    }
}
