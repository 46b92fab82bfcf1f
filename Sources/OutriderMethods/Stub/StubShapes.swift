// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A StubInfo of the contract.
struct StubInfoShape: ObjectShape {
    var entry: StubTable.Entry

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("stub", entry.name)
        writer.member("method", entry.rule.method)
        writer.member("url", entry.rule.url.text)
        writer.member("hits", entry.hits)
        writer.member("last", entry.last.map { StubRequestShape($0) })
    }
}

/// A StubRequest of the contract.
struct StubRequestShape: ObjectShape {
    var seen: StubTable.Seen

    init(_ seen: StubTable.Seen) { self.seen = seen }

    func encodeMembers(to writer: inout JSONWriter) {
        let request = seen.request
        writer.member("method", request.method)
        writer.member("url", request.url)
        writer.member("headers", FieldsShape(request.fields))
        if !request.body.isEmpty {
            BodyBytesShape(request.body).encodeMembers(to: &writer)
        }
        writer.member("stub", seen.stub)
        writer.member("at", TimeShape(WallTime(milliseconds: seen.time)))
    }
}
