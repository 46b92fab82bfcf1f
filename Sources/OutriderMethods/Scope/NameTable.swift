// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Objects with a name besides their handle: those of a client, or those that a user's clients share.
final class NameTable: Sendable {
    private let names = Mutex<[String: any Holdable]>([:])

    func find<Thing: Holdable>(_ name: String, of type: Thing.Type = Thing.self) -> Thing? {
        names.withLock { $0[name] } as? Thing
    }

    /// False if the name is taken.
    func add(_ thing: any Holdable, as name: String) -> Bool {
        names.withLock { names in
            guard names[name] == nil else { return false }
            names[name] = thing
            return true
        }
    }

    func remove(_ thing: any Holdable, as name: String) {
        names.withLock { names in
            if names[name] === thing { names[name] = nil }
        }
    }
}
