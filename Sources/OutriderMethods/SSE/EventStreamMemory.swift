// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// What one connection of an event stream leaves to the next.
final class EventStreamMemory: Sendable {
    struct Note: Sendable {
        /// Empty for none.
        var lastEventID: String
        /// What the server has asked for, in seconds; nil if it has not.
        var reconnectionTime: Double?
    }

    private let contents: Mutex<Note>

    init(lastEventID: String) { contents = Mutex(Note(lastEventID: lastEventID)) }

    var note: Note {
        get { contents.withLock { $0 } }
        set { contents.withLock { $0 = newValue } }
    }
}
