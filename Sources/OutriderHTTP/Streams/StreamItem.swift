// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An item of a stream: some bytes, a line, a JSON value, an event.
package struct StreamItem: Sendable {
    package enum Content: Sendable {
        case data([UInt8])
        /// A string, written as JSON.
        case text(JSONText)
        case value(JSONText)
        /// The members of an object, written as JSON but without its braces.
        case members(JSONText)
        /// The state of the stream's connection: the members of `event.socket`. Sent alone.
        case state(JSONText)
        /// A malformed item; the stream continues behind this item. Rare, and the largest of the cases.
        indirect case failed(HTTPFailure)
        /// A long item, not yet converted: `work` takes time, and may run on any thread. `work` never returns `unmade`.
        case unmade(work: @Sendable () -> Content)
    }

    /// Longer items are returned as `unmade`, for conversion in the background.
    package static let mostAtOnce = 64 << 10

    /// Most bytes of an item, if no other limit is set. Default: 1 MiB.
    package static let defaultLongest = 1 << 20

    package var content: Content
    /// The length in the body, with the separator before the item. Offsets and credit count these bytes.
    package var bytes: Int

    package init(_ content: Content, bytes: Int) {
        self.content = content
        self.bytes = bytes
    }

    static func tooLong(_ longest: Int) -> HTTPFailure {
        HTTPFailure(
            .limitExceeded, "an item of the stream is longer than \(longest) bytes; maxItem allows more", sent: .sent)
    }

    /// The approximate length in a message.
    package var writtenBytes: Int {
        switch content {
        case .data(let bytes): (bytes.count &+ 2) / 3 &* 4 &+ 16
        case .text(let text), .value(let text), .members(let text), .state(let text): text.bytes.count &+ 2
        case .failed(let failure): failure.message.utf8.count &+ 256
        case .unmade: bytes
        }
    }
}

/// The capacity of a message for items.
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

/// Finds the items in the bytes of a body as they arrive.
///
/// Buffers the bytes, and parses only on request. The items do not depend on how the body was cut into pieces.
package protocol ItemScanner: Sendable {
    /// Fed bytes that belong to no returned item yet.
    var held: Int { get }

    /// The memory of those bytes, where it is less: bytes without content need none.
    var kept: Int { get }

    /// Held bytes that only complete the end of the last item; 0 if other bytes are held.
    var lateEnd: Int { get }

    /// Whether items may end at any byte, up to the requested length; otherwise each item is whole, however long.
    var isContinuous: Bool { get }

    /// Whether the stream's size counts the items' bytes, and not all fed bytes.
    var countsItems: Bool { get }

    /// The buffered bytes, for a second connection with the same bytes; nil if items are not plain bytes.
    var raw: [UInt8]? { get }

    /// Begins a body; all earlier state is dropped.
    ///
    /// - Parameter contentType: of the response, if present.
    /// - Throws: why the scanner cannot read such a body; the error ends the stream.
    mutating func begin(contentType: String?) throws(HTTPFailure)

    mutating func feed(_ bytes: [UInt8])

    /// Ends the body: no more bytes follow.
    mutating func end()

    /// Whether `next` would return an item, or throw.
    mutating func hasNext() -> Bool

    /// Whether `next` would return a state, which needs no credit.
    mutating func isStateNext() -> Bool

    /// The next item; nil if more bytes are needed, or none will follow. The budget, at least a byte, limits only
    /// continuous items. An error ends the stream.
    mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem?

    /// Takes the converted content of the `unmade` item; must precede the next call of `hasNext` or `next`.
    mutating func made(_ content: StreamItem.Content)
}

extension ItemScanner {
    package var kept: Int { held }

    package var lateEnd: Int { 0 }

    package mutating func made(_ content: StreamItem.Content) {}

    package var countsItems: Bool { false }

    package mutating func isStateNext() -> Bool { false }

    package var raw: [UInt8]? { nil }
}
