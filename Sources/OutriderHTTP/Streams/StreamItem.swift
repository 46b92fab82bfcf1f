// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// One thing that a client gets from a stream: some bytes, a line, a JSON value, an event.
package struct StreamItem: Sendable {
    package enum Content: Sendable {
        case data([UInt8])
        /// A string, written as JSON.
        case text(JSONText)
        case value(JSONText)
        /// The members of an object, written as JSON but without its braces.
        case members(JSONText)
        /// How the connection behind the stream stands: the members of `event.socket`. Travels alone.
        case state(JSONText)
        /// What stands here is not what was asked for; the stream goes on behind it. Rare, and longer than all others.
        indirect case failed(HTTPFailure)
        /// A long one: making one of the others of its bytes takes time, and can be done anywhere. Never of `work`.
        case unmade(work: @Sendable () -> Content)
    }

    /// Longer items are made of their bytes by whoever has the time.
    package static let mostAtOnce = 64 << 10

    package var content: Content
    /// What it took of the body, with all that stands between it and the item before. Offsets and credit count this.
    package var bytes: Int

    package init(_ content: Content, bytes: Int) {
        self.content = content
        self.bytes = bytes
    }

    /// How long it is once it is written.
    package var writtenBytes: Int {
        switch content {
        case .data(let bytes): (bytes.count &+ 2) / 3 &* 4 &+ 16
        case .text(let text), .value(let text), .members(let text), .state(let text): text.bytes.count &+ 2
        case .failed(let failure): failure.message.utf8.count &+ 256
        case .unmade: bytes
        }
    }
}

/// How much one message may hold.
package struct ItemBudget: Sendable, Equatable {
    /// Of the body.
    package var bytes: Int
    /// Of JSON.
    package var written: Int

    package init(bytes: Int, written: Int = .max) {
        self.bytes = bytes
        self.written = written
    }
}

/// Finds the items in the bytes of a body, as they come.
///
/// Holds the bytes it was fed, and looks at them when it is asked for an item: what nobody asks for costs no more than its
/// bytes. However the body was cut into pieces, the items are the same.
package protocol ItemScanner: Sendable {
    /// Bytes that were fed, and are in no item that was taken.
    var held: Int { get }

    /// Whether an item is any part of the body, as long as is asked for; otherwise it is whole, however long.
    var isContinuous: Bool { get }

    /// Whether the size of the stream is that of its items, and not of all bytes that were fed.
    var countsItems: Bool { get }

    /// What is held, for a second connection that carries the same bytes; nil if the bytes are no form of the items.
    var raw: [UInt8]? { get }

    /// A body begins; nothing of an earlier one stays.
    ///
    /// - Parameter contentType: what the answer calls it, if it says so.
    /// Throws why such a body cannot be looked at; it ends the stream.
    mutating func begin(contentType: String?) throws(HTTPFailure)

    mutating func feed(_ bytes: [UInt8])

    /// The body is over: what is held is all there is.
    mutating func end()

    /// Whether `next` would give an item, or throw.
    mutating func hasNext() -> Bool

    /// The next item; nil if more bytes must come first, or none will. The budget, at least one byte, cuts only what is
    /// continuous. Throws what ends the stream.
    mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem?

    /// What the item has become that `next` gave unmade; before `hasNext` or `next` is asked again.
    mutating func made(_ content: StreamItem.Content)
}

extension ItemScanner {
    package mutating func made(_ content: StreamItem.Content) {}

    package var countsItems: Bool { false }

    package var raw: [UInt8]? { nil }
}
