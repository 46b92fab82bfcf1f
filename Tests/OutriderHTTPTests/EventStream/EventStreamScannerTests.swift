// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What a stream in pieces comes to.
private func events(
    _ pieces: [[UInt8]], limit: Int = EventStreamScanner.defaultLimit
) throws(HTTPFailure) -> [ServerSentEvent] {
    var scanner = EventStreamScanner(limit: limit)
    var events: [ServerSentEvent] = []
    var span = 0
    for piece in pieces {
        scanner.feed(piece)
        while try scanner.find() {
            events.append(scanner.event)
            span += scanner.span
        }
    }
    #expect(span + scanner.held == pieces.joined().count, "every byte is in an event, or held")
    return events
}

private func event(_ data: String, type: String = "message", id: String = "", retry: Double? = nil) -> ServerSentEvent {
    ServerSentEvent(type: type, data: data, id: id, retry: retry)
}

/// A stream and its events.
private struct Sample: CustomTestStringConvertible, Sendable {
    var name: String
    var bytes: [UInt8]
    var events: [ServerSentEvent]

    init(_ name: String, _ text: String, _ events: ServerSentEvent...) {
        self.init(name, Array(text.utf8), events)
    }

    init(_ name: String, _ bytes: [UInt8], _ events: [ServerSentEvent]) {
        self.name = name
        self.bytes = bytes
        self.events = events
    }

    var testDescription: String { name }
}

private let samples: [Sample] = [
    Sample("an event is dispatched at the blank line", "data: a\n\n", event("a")),
    Sample("lines of data are joined by line feeds", "data: a\ndata:\ndata: c\n\n", event("a\n\nc")),
    Sample(
        "data without a colon is an empty line", "data\n\ndata\ndata\n\ndata:\n\n",
        event(""), event("\n"), event("")),
    Sample(
        "one space after the colon is dropped", "data:a\n\ndata:  b\n\ndata:\tc\n\n",
        event("a"), event(" b"), event("\tc")),
    Sample("only the first colon ends the name", "data:a:b: c\n\n", event("a:b: c")),
    Sample("CR ends lines", "data: a\rdata: b\r\rdata: c\r\r", event("a\nb"), event("c")),
    Sample("CRLF is one end of a line", "data: a\r\ndata: b\r\n\r\n", event("a\nb")),
    Sample("a CR and a LF after a CRLF are two", "data: a\r\n\rdata: b\n\r\n", event("a"), event("b")),
    Sample("the three ends may be mixed", "data: a\ndata: b\rdata: c\r\n\n", event("a\nb\nc")),
    Sample(
        "other separators of Unicode are text", "data: a\u{2028}b\u{85}c\u{b}d\u{c}e\n\n",
        event("a\u{2028}b\u{85}c\u{b}d\u{c}e")),
    Sample("a byte order mark at the beginning is skipped", "\u{FEFF}data: a\n\n", event("a")),
    Sample("a second one belongs to the name", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", event("b")),
    Sample("one further on does, too", "data: a\n\n\u{FEFF}data: b\n\ndata: c\n\n", event("a"), event("c")),
    Sample("what begins like a mark is text", [0xEF, 0xBB, 0x0A] + Array("data: a\n\n".utf8), [event("a")]),
    Sample("comments are skipped", ": one\ndata: a\n:two\n:\n\n:\n\n", event("a")),
    Sample("an event without data is none, and its name is forgotten", "event: x\n\ndata: a\n\n", event("a")),
    Sample("the name is for one event", "event: x\ndata: a\n\ndata: b\n\n", event("a", type: "x"), event("b")),
    Sample("the last name counts, an empty one is none", "event: x\nevent:\ndata: a\n\n", event("a")),
    Sample("a name without a colon is none", "event: x\nevent\ndata: a\n\n", event("a")),
    Sample("a name keeps its spaces", "event: a b \ndata: a\n\n", event("a", type: "a b ")),
    Sample("names of fields are compared byte by byte", "Data: a\nDATA: b\ndat: c\ndatas: d\ndata: e\n\n", event("e")),
    Sample("a space makes another name", " data: a\ndata : b\ndata: c\n\n", event("c")),
    Sample("unknown fields are skipped", "foo: 1\nbar\ndata: a\n\n", event("a")),
    Sample("an id stays", "id: 7\ndata: a\n\ndata: b\n\n", event("a", id: "7"), event("b", id: "7")),
    Sample(
        "an id changes, also after the data", "id: 7\ndata: a\n\ndata: b\nid: 8\n\n",
        event("a", id: "7"), event("b", id: "8")),
    Sample("an empty id resets it", "id: 7\ndata: a\n\nid\ndata: b\n\n", event("a", id: "7"), event("b")),
    Sample("an id counts without data", "id: 7\n\ndata: a\n\n", event("a", id: "7")),
    Sample(
        "an id with NUL is ignored", "id: 7\ndata: a\n\nid: x\0y\ndata: b\n\n",
        event("a", id: "7"), event("b", id: "7")),
    Sample("data and names may hold NUL", "event: \0\ndata: a\0b\n\n", event("a\0b", type: "\0")),
    Sample(
        "a retry comes with its event, in seconds", "retry: 1500\ndata: a\n\ndata: b\n\n",
        event("a", retry: 1.5), event("b")),
    Sample("a retry alone is none", "retry: 1000\n\ndata: a\n\n", event("a")),
    Sample(
        "a retry is digits", "retry:\nretry: 1x\nretry: -1\nretry: 1.5\nretry: \u{661}\nretry:  5\ndata: a\n\n",
        event("a")),
    Sample("a retry that is no number changes nothing", "retry: 70\nretry: x\ndata: a\n\n", event("a", retry: 0.07)),
    Sample("blank lines are nothing", "\n\n\r\r\r\n\r\ndata: a\n\n\n\n", event("a")),
    Sample("a block without its blank line is dropped", "data: a\n\ndata: b\n", event("a")),
    Sample("a line without its end is, too", "data: a\n\ndata: b", event("a")),
    Sample("characters of every length stay whole", "data: é€😀\n\n", event("é€😀")),
    Sample(
        "what is not UTF-8 is replaced", [UInt8]("data: a".utf8) + [0xFF, 0xE2, 0x82, 0x62, 0xC3] + [0x0A, 0x0A],
        [event("a\u{FFFD}\u{FFFD}b\u{FFFD}")]),
    Sample(
        "names and ids are decoded as well",
        [UInt8]("event: ".utf8) + [0xFF] + Array("\nid: ".utf8) + [0xFF]
            + Array("\ndata\n\n".utf8), [event("", type: "\u{FFFD}", id: "\u{FFFD}")]),
    Sample("nothing is nothing", ""),
]

struct EventStreamScannerTests {
    @Test(arguments: samples) fileprivate func `a stream comes to its events`(_ sample: Sample) throws {
        #expect(try events([sample.bytes]) == sample.events)
    }

    @Test(arguments: samples) fileprivate func `cutting a stream anywhere changes nothing`(_ sample: Sample) throws {
        let bytes = sample.bytes
        #expect(try events(bytes.map { [$0] }) == sample.events, "byte by byte")
        for first in bytes.indices {
            for second in first..<bytes.count {
                let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                #expect(try events(pieces) == sample.events, "cut at \(first) and \(second)")
            }
        }
    }

    @Test func `streams at random come to the same however they are cut`() throws {
        let texts = samples.map { String(decoding: $0.bytes, as: UTF8.self) }
        var random = SeededRandom(seed: 7)
        for text in Mutations(of: texts, count: 2000, seed: 6, spice: "data:id\nretry\revent ") {
            let bytes = Array(text.utf8)
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let whole = try events([bytes])
            #expect(try events([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole)
            #expect(try events(bytes.map { [$0] }) == whole)
        }
    }

    @Test func `the next connection goes on from the last complete id`() throws {
        var scanner = EventStreamScanner(lastEventID: "5")
        var events: [ServerSentEvent] = []
        func feed(_ text: String) throws {
            scanner.feed(Array(text.utf8))
            while try scanner.find() { events.append(scanner.event) }
        }
        try feed("data: a\n\nid: 6\nretry: 20\ndata: b\n\nid: 7\nretry: 30\ndata: c\n")
        #expect(events == [event("a", id: "5"), event("b", id: "6", retry: 0.02)])
        #expect(scanner.lastEventID == "6")
        #expect(scanner.reconnectionTime == 0.03)
        scanner.begin()
        events = []
        try feed("\u{FEFF}data: d\n\n")
        #expect(events == [event("d", id: "6")])
    }

    @Test func `a connection that begins anew ends a line and a CR of the one before`() throws {
        var scanner = EventStreamScanner()
        var events: [ServerSentEvent] = []
        for text in ["data: a\r\rdata: b\revent: x\rdata: ha", "\ndata: c\n\n"] {
            scanner.begin()
            scanner.feed(Array(text.utf8))
            while try scanner.find() { events.append(scanner.event) }
        }
        #expect(events == [event("a"), event("c")])
    }

    @Test func `a reconnection time without end is a day`() throws {
        let digits = String(repeating: "9", count: 400)
        #expect(try events([Array("retry: \(digits)\ndata\n\n".utf8)]) == [event("", retry: 86400)])
    }

    @Test(arguments: [
        "data: \(String(repeating: "x", count: 95))\n\n", ":\(String(repeating: "x", count: 101))",
        "id: \(String(repeating: "x", count: 98))\n", String(repeating: "data: 123456789\n", count: 11),
        String(repeating: "data\n", count: 102),
    ])
    func `a line or an event that is too long is a failure`(_ text: String) {
        for pieces in [[Array(text.utf8)], Array(text.utf8).map { [$0] }] {
            let failure = #expect(throws: HTTPFailure.self) { try events(pieces, limit: 100) }
            #expect(failure?.kind == .limitExceeded)
            #expect(failure?.message.contains("100 bytes") == true)
        }
    }

    @Test func `what is just short enough is none`() throws {
        let line = String(repeating: "x", count: 94)
        #expect(try events([Array("data: \(line)\n\n".utf8)], limit: 100) == [event(line)])
        let most = String(repeating: "data: 123456789\n", count: 9)
        #expect(try events([Array((most + "\n" + most + "\n").utf8)], limit: 100).count == 2)
        let data = String(repeating: "\n", count: 100)
        #expect(try events([Array((String(repeating: "data\n", count: 101) + "\n").utf8)], limit: 100) == [event(data)])
    }
}
