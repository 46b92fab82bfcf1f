// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An event of an event stream (WHATWG HTML section 9.2.6), as dispatched.
package struct ServerSentEvent: Sendable, Equatable {
    /// The type of an event that names none.
    package static let defaultType = "message"

    /// The `event` field; `message` if absent.
    package var type: String
    /// The lines of data, joined by line feeds, as received: invalid UTF-8 stands for U+FFFD. May be empty.
    package var bytes: [UInt8]
    /// The stream's last event ID at this event; empty if none was sent.
    package var id: String
    /// The reconnection time in this event, in seconds; nil if absent.
    package var retry: Double?

    package init(type: String = Self.defaultType, data: String, id: String = "", retry: Double? = nil) {
        self.type = type
        bytes = Array(data.utf8)
        self.id = id
        self.retry = retry
    }

    /// - Parameter bytes: may hold invalid UTF-8.
    init(type: String, bytes: [UInt8], id: String, retry: Double?) {
        self.type = type
        self.bytes = bytes
        self.id = id
        self.retry = retry
    }

    package var data: String { String(decoding: bytes, as: UTF8.self) }

    package static func == (one: Self, other: Self) -> Bool {
        one.type == other.type && one.data == other.data && one.id == other.id && one.retry == other.retry
    }
}
