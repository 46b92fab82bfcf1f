// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Turns the bytes of an event stream into events (WHATWG HTML sections 9.2.5 and 9.2.6), wherever the bytes are cut.
///
/// Lines end in CR, LF or CRLF; a byte order mark at the beginning is skipped; what is not UTF-8 becomes U+FFFD; a last
/// block without a blank line after it is dropped. An id that contains NUL is ignored, and so is a reconnection time that
/// is not all digits. It looks at its bytes when it is asked for an event.
///
/// Responsible for: lines, fields, events, and what is to be remembered for the next connection.
/// Not responsible for: connections, and what becomes of the events.
package struct EventStreamScanner: Sendable {
    /// The default limit of a line, and of the data of one event, in bytes: 8 MiB, since events carry images.
    package static let defaultLimit = 8 << 20
    /// A reconnection time that does not fit means very long: a day, in seconds.
    package static let longestRetry = 86400.0
    private let limit: Int
    private var bytes: [UInt8] = []
    /// What stands before is taken.
    private var start = 0
    private var lineFeed = Finder(0x0A)
    private var carriageReturn = Finder(0x0D)
    private var isBeginning = true
    /// The line before ended in CR; a LF that follows belongs to it.
    private var skipsLineFeed = false
    /// Bytes that were taken since the last event.
    private var spanned = 0
    private var type = ""
    /// Of the event that was found last, as it came.
    package private(set) var data: [UInt8] = []
    private var hasData = false
    /// The id of the events from here on.
    package private(set) var id: String
    private var retry: Double?
    /// What was found is still there, to be looked at.
    private var isDispatched = false

    /// The id to go on from: the last one whose block was complete; empty if there is none.
    package private(set) var lastEventID: String
    /// The reconnection time that the server has asked for last, in seconds; nil if it has not.
    package private(set) var reconnectionTime: Double?
    /// What the last event took of the stream, with all that stood between it and the one before.
    package private(set) var span = 0

    /// - Parameters:
    ///   - lastEventID: what the stream goes on from; events have this id until the stream tells another one.
    ///   - limit: the most bytes of a line, and of the data of one event.
    package init(lastEventID: String = "", limit: Int = Self.defaultLimit) {
        self.limit = limit
        self.lastEventID = lastEventID
        id = lastEventID
    }

    /// Bytes that are in no event yet.
    package var held: Int { spanned &+ bytes.count &- start }

    /// A new connection begins: what was left of the one before is dropped, and the last id stays.
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

    /// The next event; nil if more bytes must come first. Throws `limitExceeded` for a line or an event that is too long;
    /// the scanner is of no use after that.
    package mutating func next() throws(HTTPFailure) -> ServerSentEvent? { try find() ? event : nil }

    /// Whether there is one more event, which `event` is then, until the next is looked for. Throws as `next` does.
    package mutating func find() throws(HTTPFailure) -> Bool {
        if isDispatched { forgetBlock() }
        let bytes = bytes
        return try bytes.withUnsafeBufferPointer { bytes throws(HTTPFailure) in try find(bytes) }
    }

    /// The event that was found last.
    package var event: ServerSentEvent {
        let type = type.isEmpty ? ServerSentEvent.defaultType : type
        return ServerSentEvent(type: type, bytes: data, id: id, retry: retry)
    }

    /// Whether it says nothing but its data, and perhaps an id.
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

    /// Skips a byte order mark; false as long as it cannot be told.
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
            .limitExceeded, "\(what) of the event stream is longer than the \(limit) bytes allowed", phase: .response,
            sent: .sent)
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
            if data.count &+ value.count &+ (hasData ? 1 : 0) >= limit { throw tooLong("an event") }
            // the first line has no line feed before it
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

    /// Whether a block that is complete is an event: without data it is none.
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

    /// Digits and nothing else.
    private static func decimal(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard !text.isEmpty else { return nil }
        var number = 0.0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            // far beyond what anybody waits, more digits change nothing
            if number < 1e15 { number = number * 10 + Double(byte &- 0x30) }
        }
        return number
    }
}

/// Finds one byte again and again, and looks nowhere twice.
private struct Finder: Sendable {
    let byte: UInt8
    /// There it is, or it is not before there.
    var place = 0

    init(_ byte: UInt8) { self.byte = byte }

    /// The place of the next such byte, or the end.
    mutating func find(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        place = max(place, start)
        guard place < bytes.count, bytes[place] != byte, let base = bytes.baseAddress else { return place }
        let found = memchr(base + place, Int32(byte), bytes.count - place)
        place = found.map { UnsafeRawPointer($0) - UnsafeRawPointer(base) } ?? bytes.count
        return place
    }
}
