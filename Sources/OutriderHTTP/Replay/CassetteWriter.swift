// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// Writes entries as HAR 1.2, each on a line of its own. Members that begin with `_` are ours, or Chrome's.
package enum CassetteWriter {
    /// The version of what we add to HAR.
    package static let version = 1
    /// Behind the last entry.
    package static let tail: [UInt8] = Array("\n]}}\n".utf8)
    /// Longer bodies are files of their own, in bytes.
    package static let longestInline = 1 << 20

    /// A cassette without entries; `tail` follows.
    package static func head(program: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("log") { writer in
                writer.member("version", "1.2")
                writer.member("creator") { writer in
                    writer.member("name", "outrider")
                    writer.member("version", program)
                }
                writer.member("_cassette") { $0.member("version", version) }
                writer.name("entries")
                writer.array { _ in }
            }
        }
        // without the end of the array and of the two objects
        return Array(writer.bytes.dropLast(3))
    }

    /// An entry without the line break and the comma before it.
    package static func line(_ entry: CassetteEntry, time: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024 + entry.body.count + entry.request.body.count)
        writer.object { writer in
            writer.member("startedDateTime", time)
            writer.member("time", rounded(entry.total))
            writer.member("request") { self.request(entry, &$0) }
            writer.member("response") { response(entry, &$0) }
            writer.member("cache") { _ in }
            writer.member("timings") { writer in
                writer.member("send", 0)
                writer.member("wait", rounded(entry.wait))
                writer.member("receive", rounded(max(0, entry.total - entry.wait)))
            }
            if !entry.chunks.isEmpty { chunks(entry.chunks, &writer) }
            if !entry.trailers.list.isEmpty {
                writer.name("_trailers")
                pairs(entry.trailers, &writer)
            }
            if let list = entry.messages { messages(list, &writer) }
            if let failure = entry.failure { writer.member("_failure") { CassetteFailure.write(failure, &$0) } }
            if entry.isCut { writer.member("_cut", true) }
            if entry.isCoded { writer.member("_coded", true) }
        }
        return writer.bytes
    }

    private static func rounded(_ milliseconds: Double) -> Double { (milliseconds * 1000).rounded() / 1000 }

    private static func pairs(_ fields: HTTPFields, _ writer: inout JSONWriter) {
        writer.array { writer in
            for field in fields.list { writer.pair(field.name, field.value) }
        }
    }

    private static func request(_ entry: CassetteEntry, _ writer: inout JSONWriter) {
        let request = entry.request
        writer.member("method", request.method)
        writer.member("url", request.url)
        writer.member("httpVersion", version(entry.head?.version))
        writer.name("cookies")
        cookies(ShownCookie.sent(request.fields), &writer)
        writer.name("headers")
        pairs(request.fields, &writer)
        writer.name("queryString")
        writer.array { writer in
            for pair in QueryPairs.of(request.url) { writer.pair(pair.name, pair.value) }
        }
        if !request.body.isEmpty || entry.requestFile != nil {
            writer.member("postData") { writer in
                writer.member("mimeType", request.contentType ?? "")
                if let file = entry.requestFile {
                    writer.member("_file", file)
                } else {
                    text(request.body, &writer)
                }
            }
        }
        writer.member("headersSize", -1)
        writer.member("bodySize", request.body.count)
    }

    private static func response(_ entry: CassetteEntry, _ writer: inout JSONWriter) {
        let head = entry.head
        let fields = head?.fields ?? []
        writer.member("status", head?.status ?? 0)
        writer.member("statusText", head?.reason ?? "")
        writer.member("httpVersion", version(head?.version))
        writer.name("cookies")
        cookies(ShownCookie.received(fields), &writer)
        writer.name("headers")
        pairs(fields, &writer)
        writer.member("content") { writer in
            writer.member("size", entry.body.count)
            writer.member("mimeType", fields.first("Content-Type") ?? "x-unknown")
            if let file = entry.bodyFile {
                writer.member("_file", file)
            } else if head != nil {
                text(entry.body, &writer)
            }
        }
        writer.member("redirectURL", fields.first("Location") ?? "")
        writer.member("headersSize", -1)
        writer.member("bodySize", entry.body.count)
    }

    private static func version(_ version: String?) -> String { version.map { "HTTP/\($0)" } ?? "HTTP/1.1" }

    private static func cookies(_ cookies: [ShownCookie], _ writer: inout JSONWriter) {
        writer.array { writer in
            for cookie in cookies { writer.pair(cookie.name, cookie.value) }
        }
    }

    private static func text(_ bytes: [UInt8], _ writer: inout JSONWriter) {
        if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) {
            writer.member("text", text)
        } else {
            bytes.withUnsafeBytes { writer.member("text", base64: $0) }
            writer.member("encoding", "base64")
        }
    }

    private static func chunks(_ chunks: [CassetteEntry.Chunk], _ writer: inout JSONWriter) {
        writer.name("_chunks")
        writer.array { writer in
            for chunk in chunks {
                writer.array { writer in
                    writer.value(rounded(chunk.time))
                    writer.value(chunk.count)
                }
            }
        }
    }

    private static func messages(_ messages: [ReplayMessage], _ writer: inout JSONWriter) {
        writer.name("_webSocketMessages")
        writer.array { writer in
            for message in messages {
                writer.object { writer in
                    writer.member("type", message.isSent ? "send" : "receive")
                    writer.member("time", message.time)
                    writer.member("opcode", Int(message.opcode))
                    if message.opcode == 1, let text = String(validating: message.bytes, as: UTF8.self) {
                        writer.member("data", text)
                    } else {
                        message.bytes.withUnsafeBytes { writer.member("data", base64: $0) }
                    }
                }
            }
        }
    }
}
