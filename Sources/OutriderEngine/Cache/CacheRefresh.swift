// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The revalidation of an entry in the background: once, whatever becomes of the requests that get the entry meanwhile, and
/// within the limits of the session whose request is the cause. Holds no request.
// proof: everything runs on the shared loop of the transport.
final class CacheRefresh: @unchecked Sendable {
    private let attempt: Attempt
    private let binding: CacheBinding
    private let place: CachePlace
    private let transport: any Transport
    private let background: CacheBackground?
    private let loop: any EventLoop

    init(of request: CachedAttempt) {
        var plain = request.attempt
        plain.fields.remove("Range")
        plain.fields.remove("If-Range")
        plain.method = "GET"
        attempt = plain
        (binding, place, transport) = (request.binding, request.place, request.transport)
        loop = request.loop
        background = (request.observer as? any CacheWatcher)?.background
    }

    private var flights: CacheFlights { binding.store.flights }

    /// - Parameter moment: the removals before the lookup that found the entry.
    func begin(_ entry: CachedEntry, since moment: CacheStore.Moment) {
        // a weak validator says nothing of a part
        if entry.head.part != nil, entry.head.etag?.hasPrefix("\"") != true { return }
        let key = flights.key(of: place)
        guard isNeeded(key) else { return }
        guard let gate = background?.gate else { return send(entry, since: moment) }
        let wait = CacheFlights.Wait(key: key, gate: ObjectIdentifier(gate))
        guard flights.begin(wait) else { return }
        let isGranted = gate.enterInBackground { isGranted in
            self.loop.execute { self.goOn(entry, wait, isGranted) }
        }
        guard isGranted else { return }
        flights.end(wait)
        send(entry, since: moment)
    }

    private func isNeeded(_ key: CacheFlights.Key) -> Bool { flights.find(key).isEmpty && !flights.isAlone(key) }

    /// The wait for a turn is over. The entry may have been replaced or removed meanwhile.
    private func goOn(_ old: CachedEntry, _ wait: CacheFlights.Wait, _ isGranted: Bool) {
        flights.end(wait)
        guard isGranted else { return }
        let store = binding.store
        let moment = CacheStore.Moment(serial: flights.begin(), removals: store.disk?.removals)
        store.find(place, on: loop) { found in
            if let entry = found.entry, entry.head == old.head, self.isNeeded(self.flights.key(of: self.place)) {
                self.send(entry, since: moment)
            } else {
                self.background?.gate?.leave()
            }
            self.flights.end()
        }
    }

    private func send(_ entry: CachedEntry, since moment: CacheStore.Moment) {
        let order = CacheFlight.Order(
            attempt: attempt, query: CacheQuery(attempt, binding.spec), place: place, binding: binding, entry: entry,
            conditions: entry.head.conditions, forward: .stale, reason: "stale-while-revalidate", found: moment)
        let key = flights.key(of: place)
        let flight = CacheFlight(order, as: key, transport, observer: nil, background: background)
        flight.joinItself()
        flight.start()
    }
}
