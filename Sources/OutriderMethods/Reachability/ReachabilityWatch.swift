// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Tells how a way changes, from now on.
struct ReachabilityWatch: Method {
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
            if interval != nil, !target.connects {
                throw JSONComplaint(
                    "interval goes with probe \"connect\": changes of a route are reported as they come",
                    at: JSONPointer(member: "interval"))
            }
            self.interval = interval ?? 30
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let (engine, quota) = (call.scope.service.engine, call.scope.quota)
        let watch = ReachabilitySubscription(call.peer, isPulled: params.isPulled)
        let state = ProbedState(nil)
        if let endpoint = params.target.probed {
            state.note(await ReachabilityProbe.run(endpoint, engine, quota).failure == nil)
        }
        let url = params.target.url
        let path = engine.watchPath(to: url, adjust: { state.adjusted($0) }) { [weak watch] sample, previous in
            watch?.tell(sample, previous)
        }
        // a cancelled probe leaves nothing behind
        try Task.checkCancellation()
        try call.scope.handles.keep(watch, as: watch.handle)
        call.afterReply {
            watch.begin(path)
            guard let endpoint = params.target.probed else { return }
            watch.probe(every: params.interval) { [weak path] in
                state.note(await ReachabilityProbe.run(endpoint, engine, quota).failure == nil)
                path?.look()
            }
        }
        return ReplyMembers { writer in
            writer.member("subscription", watch.handle)
            writer.members(of: path.first)
        }
    }
}

/// The result of the last probe.
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
