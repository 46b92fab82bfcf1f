// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// A client's subscription to the reachability of a host.
final class ReachabilitySubscription: Holdable {
    static let kind = HandleKind.subscription

    private struct Contents {
        var watch: NetworkPathSubscription?
        var probing: Task<Void, Never>?
        var told = 0
        var isOver = false
    }

    let handle = Handle<ReachabilitySubscription>()
    /// Events for `events.next`; nil if events are sent.
    let queue: EventQueue?
    private let peer: any Peer
    private let contents = Mutex(Contents())

    init(_ peer: any Peer, isPulled: Bool) {
        self.peer = peer
        queue = isPulled ? EventQueue() : nil
    }

    var told: Int { contents.withLock { $0.told } }

    func begin(_ watch: NetworkPathSubscription) {
        let isOver = contents.withLock { contents in
            contents.watch = watch
            return contents.isOver
        }
        if !isOver { watch.start() }
    }

    /// Looks by connecting, every so many seconds, too.
    func probe(every seconds: Double, _ look: @escaping @Sendable () async -> Void) {
        contents.withLock { contents in
            guard !contents.isOver else { return }
            // Ends with the subscription.
            contents.probing = Task {
                while !Task.isCancelled {
                    try? await Task.sleep(for: .seconds(seconds))
                    if !Task.isCancelled { await look() }
                }
            }
        }
    }

    func tell(_ sample: PathSample, _ previous: PathSample) {
        let number = contents.withLock { contents -> Int? in
            guard !contents.isOver else { return nil }
            defer { contents.told += 1 }
            return contents.told
        }
        guard let number else { return }
        let shape = ReachabilityEvent(
            subscription: handle.name, sequence: number, sample: sample, previous: previous)
        let event = Event("event.reachability", shape)
        if let queue {
            queue.push(event, mayBeLost: true)
        } else {
            // a client that is behind needs the newest state only
            peer.offer(event, key: handle.name) { [weak self] in self?.contents.withLock { $0.isOver } ?? true }
        }
    }

    // MARK: Holdable

    var isAwaited: Bool { queue?.isAwaited ?? false }

    func close() {
        let (watch, probing) = contents.withLock { contents in
            contents.isOver = true
            defer { (contents.watch, contents.probing) = (nil, nil) }
            return (contents.watch, contents.probing)
        }
        watch?.stop()
        probing?.cancel()
        queue?.end()
    }
}
