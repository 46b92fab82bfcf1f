// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One attempt in a cassette: what was sent, and what came.
package struct CassetteEntry: Sendable {
    /// A piece of a streamed body.
    package struct Chunk: Sendable, Equatable {
        /// Milliseconds since the head.
        package var time: Double
        package var count: Int

        package init(time: Double, count: Int) {
            self.time = time
            self.count = count
        }
    }

    /// Without secrets.
    package var request: ReplayRequest
    package var head: AttemptScript.Head?
    /// Decoded, unless `isCoded`.
    package var body: [UInt8] = []
    /// The body is in the coding that its head names: the attempt did not decode.
    package var isCoded = false
    /// A file beside the cassette that has the body, and is read when it plays; nil if `body` has.
    package var bodyFile: String?
    /// In place of a long body of the request, its file.
    package var requestFile: String?
    package var chunks: [Chunk] = []
    package var trailers: HTTPFields = []
    package var messages: [ReplayMessage]?
    package var failure: HTTPFailure?
    /// The program stopped reading the body: what comes behind it is not known.
    package var isCut = false
    /// Milliseconds since 1970, and those that the attempt took: to the head, and to the end.
    package var started: Int64 = 0
    package var wait = 0.0
    package var total = 0.0

    package init(_ request: ReplayRequest) { self.request = request }

    /// Whether the body is one that an attempt with decoding would have decoded.
    package var hasCoding: Bool {
        guard let head, head.status != 206, messages == nil else { return false }
        return ContentCoding.layers(head.fields.all("Content-Encoding"))?.isEmpty == false
    }
}

/// How fast a cassette plays.
package enum ReplayTiming: Sendable, Equatable {
    /// Pieces keep their borders, and nothing waits.
    case none
    /// Waits are as recorded, times this factor.
    case factor(Double)
}

extension AttemptScript {
    /// The course of a recorded attempt.
    ///
    /// - Parameter key: Sec-WebSocket-Key of the request.
    package init(_ entry: CassetteEntry, body: [UInt8], _ timing: ReplayTiming, key: String?) {
        self.init(head: entry.head)
        head?.isCoded = entry.isCoded || !entry.hasCoding
        failure = entry.failure
        trailers = entry.trailers
        messages = entry.messages
        staysOpen = entry.isCut
        let factor = if case .factor(let factor) = timing { factor } else { 0.0 }
        delay = entry.wait / 1000 * factor
        // recorded messages are not compressed
        if messages != nil { self.head?.fields.remove("Sec-WebSocket-Extensions") }
        if let key, messages != nil { self.head?.fields.set("Sec-WebSocket-Accept", WebSocketHandshake.accept(key)) }
        // a length that was that of the body in its coding, or before its secrets were masked
        if let length = head?.fields.first("Content-Length"), head?.isCoded == true,
            length != "\(body.count)", failure == nil, !entry.isCut, !body.isEmpty
        {
            head?.fields.set("Content-Length", "\(body.count)")
        }
        var (start, last) = (0, 0.0)
        for chunk in entry.chunks {
            // a count comes from a file, and may be any number
            let end = start + min(body.count - start, max(0, chunk.count))
            guard end > start else { continue }
            chunks.append(
                StubReply.Chunk(after: max(0, chunk.time - last) / 1000 * factor, body[start..<end]))
            (start, last) = (end, chunk.time)
        }
        let size = 64 << 10
        while start < body.count {
            let end = min(body.count, start + size)
            chunks.append(StubReply.Chunk(after: 0, body[start..<end]))
            start = end
        }
    }
}

extension AttemptScript {
    /// Whether all of a successful response comes at once.
    var isReady: Bool {
        guard let head, (200..<300).contains(head.status), head.status != 204, failure == nil, delay <= 0 else {
            return false
        }
        return !staysOpen && messages == nil && trailers.list.isEmpty && rate == nil && cut == nil
            && !head.fields.contains("Content-Encoding") && chunks.allSatisfy { $0.after <= 0 }
    }
}

extension CassetteEntry {
    /// The entry without its secrets. Pieces of a stream keep their borders at the ends of lines.
    package func masked(_ mask: CassetteMask) -> CassetteEntry {
        var entry = self
        entry.request = mask.masked(request)
        if let fields = head?.fields { entry.head?.fields = mask.fields(fields) }
        entry.trailers = mask.fields(trailers)
        entry.failure?.message = failure.map { mask.values.replaced($0.message) } ?? ""
        entry.messages = messages?.map { mask.masked($0) }
        let type = head?.fields.first("Content-Type").flatMap(MediaType.init(parsing:))
        // a form is masked as a whole, and has no pieces that a program could tell apart
        if let type, ["x-www-form-urlencoded", "form-data"].contains(type.subtype) { entry.chunks = [] }
        if entry.chunks.isEmpty {
            entry.body = mask.body(body, head?.fields.first("Content-Type"))
        } else {
            entry.maskParts(mask, isEvents: StreamPart.isEvents(type))
        }
        if entry.body != body { entry.removeDigests() }
        return entry
    }

    /// Digests of a body that is masked, or played without its coding, would refuse it.
    package mutating func removeDigests() {
        for name in ["Repr-Digest", "Content-Digest", "Digest", "Content-MD5"] {
            head?.fields.remove(name)
            trailers.remove(name)
        }
    }

    private mutating func maskParts(_ mask: CassetteMask, isEvents: Bool) {
        var result: [UInt8] = []
        var borders: [Int] = []
        var border = chunks.first?.count ?? 0
        var start = 0
        while start < body.count {
            let end = StreamPart.end(in: body, from: start, isEvents: isEvents)
            let hasBreak = body[end - 1] == UInt8(ascii: "\n")
            let masked = mask.line(Array(body[start..<(hasBreak ? end - 1 : end)]))
            while borders.count < chunks.count, border < end {
                borders.append(result.count + min(border - start, masked.count))
                border += borders.count < chunks.count ? chunks[borders.count].count : 0
            }
            result += masked
            if hasBreak { result.append(UInt8(ascii: "\n")) }
            while borders.count < chunks.count, border == end {
                borders.append(result.count)
                border += borders.count < chunks.count ? chunks[borders.count].count : 0
            }
            start = end
        }
        body = result
        var last = 0
        for index in chunks.indices {
            let border = index < borders.count ? borders[index] : result.count
            chunks[index].count = max(0, border - last)
            last = max(last, border)
        }
    }
}
