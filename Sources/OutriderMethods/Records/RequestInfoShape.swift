// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A request as it stands: the RequestInfo of the contract.
struct RequestInfoShape: JSONEncodable {
    var record: RequestRecord
    var snapshot: Exchange.Snapshot

    init(_ record: RequestRecord) {
        self.record = record
        snapshot = record.exchange.snapshot
    }

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("request", record.handle)
            writer.member("state", snapshot.phase.rawValue)
            writer.member("method", record.exchange.method)
            writer.member("url", record.exchange.url)
            writer.member("tag", record.tag)
            writer.member("attempts", snapshot.attempts)
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
                    writer.member("headers", FieldsShape(head.fields))
                }
            }
            if let failure = snapshot.failure { writer.member("error", FailureShape(failure)) }
        }
    }
}
