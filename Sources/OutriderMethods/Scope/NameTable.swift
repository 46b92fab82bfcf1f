// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Synchronization

/// Objects with a name besides their handle: those of a client, or those that a user's clients share.
final class NameTable: Sendable {
    private let names = Mutex<[ByteText: any Holdable]>([:])

    func find<Thing: Holdable>(_ name: String, of type: Thing.Type = Thing.self) -> Thing? {
        names.withLock { $0[ByteText(name)] } as? Thing
    }

    /// False if the name is taken.
    func add(_ thing: any Holdable, as name: String) -> Bool {
        names.withLock { names in
            guard names[ByteText(name)] == nil else { return false }
            names[ByteText(name)] = thing
            return true
        }
    }

    func remove(_ thing: any Holdable, as name: String) {
        names.withLock { names in
            if names[ByteText(name)] === thing { names[ByteText(name)] = nil }
        }
    }
}
