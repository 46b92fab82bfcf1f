// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The places for callbacks that a client has not replied to, and the line of callbacks that wait for a place.
///
///     enter ──▶ inside ──leave──▶ over (the place goes to the first callback in the line that may have it)
///       ├─────▶ waiting ──▶ inside
///       │          └──giveUp──▶ over
///       └─────▶ refused
///
/// The client's code may make requests itself, and reply to a callback only after them. Then all places may belong to
/// callbacks that wait for those in the line. So a wait ends early (`ifStuck`) if no callback has left meanwhile.
struct CallbackLineMachine {
    enum Entry: Equatable {
        case inside, waiting, refused
    }

    enum Wait: Equatable {
        case ends, waits
        /// The callback was not in the line any more.
        case isOver
    }

    static let places = 64
    /// Streams are lost at once: half of the places stays free for other requests.
    static let reconnectPlaces = 32
    /// A connection has as many requests.
    static let mostWaiting = 4096

    private struct Waiting {
        var id: Int
        var isReconnect: Bool
        /// The number of callbacks that had left when the callback came, or stayed.
        var left: Int
    }

    private var inside = 0
    private var reconnecting = 0
    private var left = 0
    private var line: [Waiting] = []

    /// - Parameter id: the caller's name for the callback, for `leave` and `giveUp`.
    mutating func enter(_ id: Int, isReconnect: Bool) -> Entry {
        // no callback in the line may have a free place
        if mayEnter(isReconnect) {
            admit(isReconnect)
            return .inside
        }
        guard line.count < Self.mostWaiting else { return .refused }
        line.append(Waiting(id: id, isReconnect: isReconnect, left: left))
        return .waiting
    }

    /// Frees the place of a callback. Returns the callback that has the place now.
    mutating func leave(isReconnect: Bool) -> Int? {
        left &+= 1
        inside -= 1
        if isReconnect { reconnecting -= 1 }
        guard let index = line.firstIndex(where: { mayEnter($0.isReconnect) }) else { return nil }
        let next = line.remove(at: index)
        admit(next.isReconnect)
        return next.id
    }

    /// - Parameter ifStuck: whether the callback stays if others have left since it came, or since it stayed before.
    mutating func giveUp(_ id: Int, ifStuck: Bool = false) -> Wait {
        guard let index = line.firstIndex(where: { $0.id == id }) else { return .isOver }
        if ifStuck, line[index].left != left {
            line[index].left = left
            return .waits
        }
        line.remove(at: index)
        return .ends
    }

    private mutating func admit(_ isReconnect: Bool) {
        inside += 1
        if isReconnect { reconnecting += 1 }
    }

    private func mayEnter(_ isReconnect: Bool) -> Bool {
        inside < Self.places && (!isReconnect || reconnecting < Self.reconnectPlaces)
    }
}
