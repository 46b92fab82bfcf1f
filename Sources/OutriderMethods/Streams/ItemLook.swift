// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The form of a stream's items in events and reads.
package struct ItemLook: Sendable {
    /// The member of a read's result that holds the items.
    package enum Place: Sendable { case base64, text, values }

    /// The event that carries a single item.
    package var event: String
    package var place: Place

    package init(event: String, place: Place = .values) {
        self.event = event
        self.place = place
    }

    package static let bytes = ItemLook(event: "event.data", place: .base64)
    package static let text = ItemLook(event: "event.text", place: .text)
    package static let lines = ItemLook(event: "event.text")
    package static let values = ItemLook(event: "event.value")
    package static let frames = ItemLook(event: "event.data")
    package static let serverSentEvents = ItemLook(event: "event.sse")
    package static let messages = ItemLook(event: "event.message")
}
