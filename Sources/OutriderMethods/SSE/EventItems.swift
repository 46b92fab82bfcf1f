// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The events of a body, as items of a stream.
struct EventItems: ItemScanner {
    /// The form of an event.
    struct Style: Sendable {
        /// An event with only data is a string; other events leave out an unchanged `event` and `id`. For clients with
        /// very many events.
        var isCompact = false
        /// Data in JSON also comes as a value.
        var parsesJSON = false
    }

    /// The most events that are parsed ahead: parsed short events take much more memory than their bytes.
    private static let mostReady = 1024

    /// The complete form repeats an id in each event: events with a longer one are written one at a time.
    private static let longID = 1 << 10

    private let style: Style
    private let memory: EventStreamMemory
    private var scanner: EventStreamScanner
    /// Events parsed ahead: first those in `ready`, in reverse order, then those in `fresh`.
    private var ready: [StreamItem] = []
    private var fresh: [StreamItem] = []
    private var readyBytes = 0
    /// The memory of those events, without the comments before them.
    private var readyKept = 0
    private var failure: HTTPFailure?
    /// The id that the client knows.
    private var knownID: String

    /// - Parameter limit: the most bytes of a line, and of an event's data.
    init(_ style: Style, limit: Int, _ memory: EventStreamMemory) {
        self.style = style
        self.memory = memory
        knownID = memory.note.lastEventID
        scanner = EventStreamScanner(lastEventID: knownID, limit: limit)
    }

    var held: Int { readyBytes &+ scanner.held }

    var kept: Int { readyKept &+ scanner.kept }

    var isContinuous: Bool { false }

    /// Keeps whole events of the former connection, and drops its unfinished event.
    mutating func begin(contentType: String?) {
        drain()
        scanner.begin()
    }

    /// Parses some events at once, while the client is busy with earlier ones.
    mutating func feed(_ bytes: [UInt8]) {
        scanner.feed(bytes)
        while ready.count &+ fresh.count < Self.mostReady, failure == nil, find() {}
    }

    mutating func end() {
        drain()
        memory.note = EventStreamMemory.Note(
            lastEventID: scanner.lastEventID, reconnectionTime: scanner.reconnectionTime)
    }

    mutating func hasNext() -> Bool {
        if ready.isEmpty, fresh.isEmpty, failure == nil { find() }
        return !ready.isEmpty || !fresh.isEmpty || failure != nil
    }

    mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        guard hasNext() else { return nil }
        if ready.isEmpty {
            swap(&ready, &fresh)
            ready.reverse()
            // give large memory back: the next chunk may hold few events
            if fresh.capacity > 64 { fresh = [] }
        }
        guard let item = ready.popLast() else {
            if let failure { throw failure }
            return nil
        }
        readyBytes &-= item.bytes
        readyKept &-= Self.kept(by: item)
        return item
    }

    /// Parses all remaining events, so that the last id is known.
    private mutating func drain() {
        while failure == nil, find() {}
    }

    /// Whether there was another event.
    @discardableResult
    private mutating func find() -> Bool {
        do throws(HTTPFailure) {
            guard try scanner.find() else { return false }
            readyBytes &+= scanner.span
            let item = StreamItem(content(), bytes: scanner.span)
            readyKept &+= Self.kept(by: item)
            fresh.append(item)
            return true
        } catch {
            failure = error
            return false
        }
    }

    private static func kept(by item: StreamItem) -> Int { min(item.bytes, item.writtenBytes) }

    // MARK: forms

    /// The content of the event just parsed.
    private mutating func content() -> StreamItem.Content {
        let isNewID = scanner.id != knownID
        if isNewID { knownID = scanner.id }
        let isLong =
            scanner.data.count > StreamItem.mostAtOnce || (!style.isCompact && scanner.id.utf8.count > Self.longID)
        if style.isCompact, scanner.isPlain, !isNewID, !style.parsesJSON, !isLong {
            return .value(JSONText(written: JSONWriter.bytes(ofText: scanner.data)))
        }
        let event = scanner.event
        if isLong { return .unmade { [style] in Self.content(event, style, isNewID: isNewID) } }
        return Self.content(event, style, isNewID: isNewID)
    }

    private static func content(_ event: ServerSentEvent, _ style: Style, isNewID: Bool) -> StreamItem.Content {
        var writer = JSONWriter(capacity: event.bytes.count &+ 64)
        guard style.isCompact else {
            members(of: event, style, hasType: true, hasID: !event.id.isEmpty, to: &writer)
            return .members(JSONText(written: writer.bytes))
        }
        let hasType = event.type != ServerSentEvent.defaultType
        if !hasType, !isNewID, event.retry == nil, !style.parsesJSON {
            return .value(JSONText(written: JSONWriter.bytes(ofText: event.bytes)))
        }
        writer.object { members(of: event, style, hasType: hasType, hasID: isNewID, to: &$0) }
        return .value(JSONText(written: writer.bytes))
    }

    private static func members(
        of event: ServerSentEvent, _ style: Style, hasType: Bool, hasID: Bool, to writer: inout JSONWriter
    ) {
        if hasType { writer.member("event", event.type) }
        writer.member("data", event.data)
        if hasID { writer.member("id", event.id) }
        if let retry = event.retry {
            writer.member("retry", retry)
        }
        // data that is not JSON has no value: many streams end with a word
        if style.parsesJSON, let value = try? JSONText(checking: event.bytes, limits: Self.limits) {
            writer.member("value", value)
        }
    }

    /// Values are passed through; only their depth is limited, for the client's parser.
    private static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.hasLongIntegers = true
        return limits
    }()
}
