// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A client that hears how a way changes.
final class ReachabilityWatch: Holdable {
    static let kind = HandleKind.subscription

    private struct Contents {
        var watch: PathWatch?
        var probing: Task<Void, Never>?
        var told = 0
        var isOver = false
    }

    let handle = Handle<ReachabilityWatch>()
    /// What waits for `events.next`; nil where events are sent.
    let queue: EventQueue?
    private let peer: any Peer
    private let contents = Mutex(Contents())

    init(_ peer: any Peer, isPulled: Bool) {
        self.peer = peer
        queue = isPulled ? EventQueue() : nil
    }

    var told: Int { contents.withLock { $0.told } }

    func begin(_ watch: PathWatch) {
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

/// `event.reachability`: how a way is now.
struct ReachabilityEvent: JSONEncodable, Sendable {
    var subscription: String
    var sequence: Int
    var sample: PathSample
    var previous: PathSample

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("subscription", subscription)
            writer.member("seq", sequence)
            writer.members(of: sample)
            writer.member("previous", previous.status.rawValue)
        }
    }
}

/// Tells how a way changes, from now on.
struct ReachabilityWatching: Method {
    static let name = "reachability.watch"

    struct Params: JSONDecodable {
        var target: ReachabilityTarget
        var interval: Double
        var isPulled: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            target = try ReachabilityTarget(&fields)
            let interval = try fields.number("interval", in: 5...86400)
            isPulled = try fields.optional("pull") ?? false
            try fields.finish()
            if interval != nil, target.wasProbeAbsent {
                throw JSONComplaint(
                    "interval needs probe: write \"probe\": \"connect\"", at: JSONPointer(member: "probe"))
            }
            self.interval = interval ?? 30
        }
    }

    struct Result: JSONEncodable {
        var subscription: Handle<ReachabilityWatch>
        var sample: PathSample

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("subscription", subscription)
                writer.members(of: sample)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let (engine, quota) = (call.scope.service.engine, call.scope.quota)
        let watch = ReachabilityWatch(call.peer, isPulled: params.isPulled)
        try call.scope.handles.keep(watch, as: watch.handle)
        let state = ProbedState(nil)
        if let endpoint = params.target.probed {
            state.note(await ReachabilityProbe.run(endpoint, engine, quota).failure == nil)
        }
        let url = params.target.url
        let path = engine.watchPath(to: url, adjust: { state.adjusted($0) }) { [weak watch] sample, previous in
            watch?.tell(sample, previous)
        }
        call.afterReply {
            watch.begin(path)
            guard let endpoint = params.target.probed else { return }
            watch.probe(every: params.interval) { [weak path] in
                state.note(await ReachabilityProbe.run(endpoint, engine, quota).failure == nil)
                path?.look()
            }
        }
        return Result(subscription: watch.handle, sample: path.first)
    }
}

/// What the last probe found.
private final class ProbedState: Sendable {
    private let isReached: Mutex<Bool?>

    init(_ isReached: Bool?) { self.isReached = Mutex(isReached) }

    func note(_ isReached: Bool) { self.isReached.withLock { $0 = isReached } }

    func adjusted(_ sample: PathSample) -> PathSample {
        guard let isReached = isReached.withLock({ $0 }) else { return sample }
        var sample = sample
        // without a route the probe is out of date
        if sample.status == .reachable, !isReached { sample.status = .unreachable }
        return sample
    }
}

/// Hears where a probe led.
final class ProbeOwner: DuplexOwner {
    private let address = Mutex<String?>(nil)

    var remote: String? { address.withLock { $0 } }

    func opened(_ control: any DuplexControl, _ timeline: Timeline, _ security: DuplexSecurity?) {
        address.withLock { $0 = timeline.remote }
    }

    func readEnded() {}
    func writeEnded() {}
}
