// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The state that a connection of an event stream passes to the next.
final class EventStreamMemory: Sendable {
    struct Note: Sendable {
        /// Empty for none.
        var lastEventID: String
        /// The server's reconnection time in seconds; nil if not set.
        var reconnectionTime: Double?
    }

    private let contents: Mutex<Note>

    init(lastEventID: String) { contents = Mutex(Note(lastEventID: lastEventID)) }

    var note: Note {
        get { contents.withLock { $0 } }
        set { contents.withLock { $0 = newValue } }
    }
}
