// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides which clients may be connected: up to a limit, above which silent clients give way to new clients.
///
/// A client is silent until its first message is complete. The oldest silent client gives way to a new one once it has
/// been connected for `patience`; before that, the new client is refused. So connections that say nothing cannot lock
/// every other program out, and a client that has begun to work never loses its place. Times are seconds of any clock
/// that does not go back.
package struct ClientPlaces: Sendable {
    package enum Entry: Equatable, Sendable {
        case admitted
        /// The client of that name must be disconnected: its place is taken.
        case admittedInstead(of: String)
        case refused
    }

    private struct Silent {
        let name: String
        let since: Double
    }

    /// Clients at once.
    private let places: Int
    /// Seconds that a client has for its first message while no place is free.
    private let patience: Double
    private var connected: Set<String> = []
    /// In the order of their arrival.
    private var silent: [Silent] = []

    package init(places: Int, patience: Double) {
        self.places = places
        self.patience = patience
    }

    package mutating func enter(_ name: String, now: Double) -> Entry {
        if connected.count < places {
            add(name, now)
            return .admitted
        }
        guard let oldest = silent.first, now - oldest.since >= patience else { return .refused }
        leave(oldest.name)
        add(name, now)
        return .admittedInstead(of: oldest.name)
    }

    /// The first message of the client is complete.
    package mutating func spoke(_ name: String) {
        // the newest are last, and usually the next to send a message
        if let index = silent.lastIndex(where: { $0.name == name }) { silent.remove(at: index) }
    }

    /// The client is disconnected. A client that has given way already, or never entered, is ignored.
    package mutating func leave(_ name: String) {
        guard connected.remove(name) != nil else { return }
        spoke(name)
    }

    private mutating func add(_ name: String, _ now: Double) {
        connected.insert(name)
        silent.append(Silent(name: name, since: now))
    }
}
