// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Places for connections, shared fairly between clients.
extension ConnectionPool {
    /// Gets a place, or the failure if too many openings of the client wait.
    typealias Placed = (Result<ConnectionPlace, HTTPFailure>) -> Void

    /// Passes a place for a connection to `hand`, at once or as soon as the client's share has room. Returns an id for
    /// `withdraw` if the client has to wait.
    func place(for client: ClientKey, _ hand: @escaping Placed) -> FairQueue.ID? {
        loop.assertInEventLoop()
        let id = makeID()
        switch shares.enter(id, for: client) {
        case .run: hand(.success(ConnectionPlace(client, self)))
        case .wait:
            unplaced[id] = hand
            evictIdle(for: client)
            return id
        case .refuse:
            let text = "too many requests of this client wait for a connection (send fewer at once)"
            hand(.failure(HTTPFailure(.tooManyOpenFiles, text, phase: .queue)))
        }
        return nil
    }

    /// The client does not wait for a place any more.
    func withdraw(_ id: FairQueue.ID, of client: ClientKey) {
        loop.assertInEventLoop()
        unplaced[id] = nil
        _ = shares.cancel(id, of: client)
    }

    /// A connection of the client has ended: the next opening gets its place.
    func giveBack(_ client: ClientKey) {
        loop.assertInEventLoop()
        for (id, client) in shares.leave(client) {
            guard let hand = unplaced.removeValue(forKey: id) else { continue }
            // deferred, as in `serve`
            let place = ConnectionPlace(client, self)
            loop.assumeIsolated().execute { hand(.success(place)) }
        }
    }

    /// Closes the oldest idle connection of the client, or of any client if all places are taken.
    private func evictIdle(for client: ClientKey) {
        let isFull = shares.held >= shares.places
        let candidates = idle.values.filter { isFull || $0.place.client == client }
        if let oldest = candidates.min(by: { $0.id < $1.id }) { dropIdle(oldest) }
    }
}
