// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Parses the bytes of an event stream into events (WHATWG HTML sections 9.2.5 and 9.2.6), wherever the bytes are cut.
///
/// Lines end in CR, LF or CRLF; a byte order mark at the beginning is skipped; invalid UTF-8 becomes U+FFFD; a last
/// block without a blank line after it is dropped. An id that contains NUL is ignored, and so is a reconnection time
/// with other characters than digits. Bytes are parsed only when an event is requested.
///
/// Responsible for: lines, fields, events, and the state kept for the next connection.
/// Not responsible for: connections, and the use of events.
package struct EventStreamScanner: Sendable {
    /// The default limit of a line, and of the data of an event, in bytes: 8 MiB, since events carry images.
    package static let defaultLimit = 8 << 20
    /// A longer reconnection time is cut to this limit: a day, in seconds.
    package static let longestRetry = 86400.0
    private let limit: Int
    private var bytes: [UInt8] = []
    /// The index of the first unconsumed byte.
    private var start = 0
    private var lineFeed = Finder(0x0A)
    private var carriageReturn = Finder(0x0D)
    private var isBeginning = true
    /// The last line ended in CR; a following LF belongs to that end.
    private var skipsLineFeed = false
    /// Bytes consumed since the last event.
    private var spanned = 0
    private var type = ""
    /// The data of the last event, as received.
    package private(set) var data: [UInt8] = []
    private var hasData = false
    /// The id of the following events.
    package private(set) var id: String
    private var retry: Double?
    /// The last event is still available.
    private var isDispatched = false

    /// The last event ID of the last complete block, for reconnection; empty if there is none.
    package private(set) var lastEventID: String
    /// The server's latest reconnection time, in seconds; nil if not set.
    package private(set) var reconnectionTime: Double?
    /// The length of the last event in the stream, with all bytes since the event before.
    package private(set) var span = 0

    /// - Parameters:
    ///   - lastEventID: where the stream resumes; events have this id until the stream sets another.
    ///   - limit: the most bytes of a line, and of the data of an event.
    package init(lastEventID: String = "", limit: Int = Self.defaultLimit) {
        self.limit = limit
        self.lastEventID = lastEventID
        id = lastEventID
    }

    /// Bytes that belong to no event yet.
    package var held: Int { spanned &+ bytes.count &- start }

    /// The memory of such bytes: nothing is kept of comments.
    package var kept: Int { (isDispatched ? 0 : data.count &+ type.utf8.count) &+ bytes.count &- start }

    /// Begins a new connection: unparsed bytes are dropped, and the last event ID stays.
    package mutating func begin() {
        bytes = []
        start = 0
        lineFeed = Finder(0x0A)
        carriageReturn = Finder(0x0D)
        isBeginning = true
        skipsLineFeed = false
        spanned = 0
        forgetBlock()
        id = lastEventID
    }

    package mutating func feed(_ more: [UInt8]) {
        if start == bytes.count {
            bytes = more
            lineFeed.place = 0
            carriageReturn.place = 0
        } else {
            bytes.removeFirst(start)
            lineFeed.place -= start
            carriageReturn.place -= start
            bytes.append(contentsOf: more)
        }
        start = 0
    }

    /// Finds the next event; `event` holds this event until the next call. False if more bytes are needed. Throws
    /// `limitExceeded` for a line or an event above the limit; the scanner is unusable after that.
    package mutating func find() throws(HTTPFailure) -> Bool {
        if isDispatched { forgetBlock() }
        let bytes = bytes
        return try bytes.withUnsafeBufferPointer { bytes throws(HTTPFailure) in try find(bytes) }
    }

    /// The last found event.
    package var event: ServerSentEvent {
        let type = type.isEmpty ? ServerSentEvent.defaultType : type
        return ServerSentEvent(type: type, bytes: data, id: id, retry: retry)
    }

    /// Whether the event consists of data, and perhaps an id, alone.
    package var isPlain: Bool { type.isEmpty && retry == nil }

    private mutating func find(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTPFailure) -> Bool {
        if isBeginning, !skipMark(bytes) { return false }
        while start < bytes.count {
            if skipsLineFeed {
                skipsLineFeed = false
                if bytes[start] == 0x0A {
                    advance(to: start + 1)
                    continue
                }
            }
            let end = min(lineFeed.find(bytes, from: start), carriageReturn.find(bytes, from: start))
            if end - start > limit { throw tooLong("a line") }
            guard end < bytes.count else { return false }
            let line = UnsafeBufferPointer(rebasing: bytes[start..<end])
            skipsLineFeed = bytes[end] == 0x0D
            advance(to: end + 1)
            if !line.isEmpty {
                try take(line)
            } else if dispatch() {
                return true
            }
        }
        return false
    }

    private mutating func advance(to end: Int) {
        spanned &+= end - start
        start = end
    }

    /// Skips a byte order mark; false if more bytes are needed to decide.
    private mutating func skipMark(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard bytes.starts(with: mark) else {
            isBeginning = bytes.count < mark.count && mark.starts(with: bytes)
            return !isBeginning
        }
        isBeginning = false
        advance(to: mark.count)
        return true
    }

    private func tooLong(_ what: String) -> HTTPFailure {
        HTTPFailure(
            .limitExceeded, "\(what) of the event stream is longer than the \(limit) bytes of maxEventBytes",
            phase: .response, sent: .sent)
    }

    // MARK: blocks

    private mutating func take(_ line: UnsafeBufferPointer<UInt8>) throws(HTTPFailure) {
        var colon = Finder(0x3A)
        let end = colon.find(line, from: 0)
        // a comment
        if end == 0 { return }
        var begin = min(end + 1, line.count)
        if begin < line.count, line[begin] == 0x20 { begin += 1 }
        let value = UnsafeBufferPointer(rebasing: line[begin...])
        let name = UnsafeBufferPointer(rebasing: line[..<end])
        if Self.same(name, "data") {
            if data.count &+ value.count &+ (hasData ? 1 : 0) > limit { throw tooLong("an event") }
            // no line feed before the first line
            if hasData { data.append(0x0A) }
            data.append(contentsOf: value)
            hasData = true
        } else if Self.same(name, "event") {
            type = String(decoding: value, as: UTF8.self)
        } else if Self.same(name, "id") {
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        } else if Self.same(name, "retry") {
            guard let milliseconds = Self.decimal(value) else { return }
            retry = min(milliseconds / 1000, Self.longestRetry)
            reconnectionTime = retry
        }
    }

    /// Ends a block. False if the block has no data, and thus is no event.
    private mutating func dispatch() -> Bool {
        if lastEventID != id { lastEventID = id }
        guard hasData else {
            forgetBlock()
            return false
        }
        span = spanned
        spanned = 0
        isDispatched = true
        return true
    }

    private mutating func forgetBlock() {
        isDispatched = false
        if !type.isEmpty { type = "" }
        retry = nil
        guard hasData else { return }
        data.removeAll(keepingCapacity: data.count <= 4096)
        hasData = false
    }

    private static func same(_ name: UnsafeBufferPointer<UInt8>, _ other: StaticString) -> Bool {
        guard name.count == other.utf8CodeUnitCount, let base = name.baseAddress else { return false }
        return memcmp(base, other.utf8Start, name.count) == 0
    }

    /// Parses a text of digits alone.
    private static func decimal(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard !text.isEmpty else { return nil }
        var number = 0.0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            // far beyond all useful times, further digits change nothing
            if number < 1e15 { number = number * 10 + Double(byte &- 0x30) }
        }
        return number
    }
}

/// Searches for the same byte repeatedly, without a second look at any position.
private struct Finder: Sendable {
    let byte: UInt8
    /// The byte's position if found; otherwise all bytes before have been searched.
    var place = 0

    init(_ byte: UInt8) { self.byte = byte }

    /// The index of the next such byte, or the end.
    mutating func find(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        place = max(place, start)
        guard place < bytes.count, bytes[place] != byte, let base = bytes.baseAddress else { return place }
        let found = memchr(base + place, Int32(byte), bytes.count - place)
        place = found.map { UnsafeRawPointer($0) - UnsafeRawPointer(base) } ?? bytes.count
        return place
    }
}
