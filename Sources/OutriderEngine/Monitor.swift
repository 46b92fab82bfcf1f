// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The subject of an event, so that a monitor recognizes its own requests.
package struct MonitorSubject: Sendable {
    /// The handle of a request; nil for events about none.
    package var request: String?
    /// The name or handle of its session; nil for the default session.
    package var session: String?
    /// The caller's label.
    package var tag: String?
    package var owner: MonitorOwner?
    /// About a session that all clients share.
    package var isShared: Bool

    package init(
        request: String? = nil, session: String? = nil, tag: String? = nil, owner: MonitorOwner? = nil,
        isShared: Bool = false
    ) {
        self.isShared = isShared
        self.request = request
        self.session = session
        self.tag = tag
        self.owner = owner
    }
}

/// A connection as the owner of requests, compared by identity.
package final class MonitorOwner: Sendable {
    package let name: String
    /// Detached requests that this connection made or adopted, by handle.
    private let shared = Mutex<Set<String>>([])
    private let left = Atomic(false)

    package init(_ name: String) { self.name = name }

    /// The connection has ended.
    package var isGone: Bool { left.load(ordering: .relaxed) }

    package func leave() { left.store(true, ordering: .relaxed) }

    /// Adds a detached request to those of this connection. `known` are the requests that still exist: all others are
    /// forgotten, so that the set stays as small as their table.
    package func share(_ request: String, known: () -> Set<String>) {
        shared.withLock { shared in
            if shared.count >= 4096 { shared.formIntersection(known()) }
            shared.insert(request)
        }
    }

    package func unshare(_ request: String) { shared.withLock { _ = $0.remove(request) } }

    package func shares(_ request: String) -> Bool { shared.withLock { $0.contains(request) } }
}

/// Receives events. Must return at once, and may be called on any thread.
package protocol MonitorSink: AnyObject, Sendable {
    /// - Parameter detail: evaluate only if wanted.
    func receive(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail)
}

/// Reports the events of the engine. Without a listener, each topic costs a load and a branch.
package final class Monitor: Sendable {
    /// A `TopicSet` in two halves, each valid on its own.
    private let wanted = Atomic<UInt64>(0)
    private let wantedToo = Atomic<UInt64>(0)
    private let sink = Mutex<(any MonitorSink)?>(nil)

    package init() {}

    /// Sends these topics to the sink from now on.
    package func tell(_ sink: any MonitorSink, _ topics: TopicSet) {
        self.sink.withLock { $0 = sink }
        wanted.store(UInt64(truncatingIfNeeded: topics.rawValue), ordering: .relaxed)
        wantedToo.store(UInt64(truncatingIfNeeded: topics.rawValue >> 64), ordering: .relaxed)
    }

    @inline(__always)
    package func wants(_ topic: MonitorTopic) -> Bool {
        let bit = UInt64(topic.rawValue)
        let half = bit < 64 ? wanted.load(ordering: .relaxed) : wantedToo.load(ordering: .relaxed)
        return half & (1 &<< (bit & 63)) != 0
    }

    /// Whether any of these topics is wanted.
    func wants(_ topics: TopicSet) -> Bool {
        let low = UInt128(wanted.load(ordering: .relaxed))
        let high = UInt128(wantedToo.load(ordering: .relaxed))
        return !TopicSet(rawValue: high << 64 | low).isDisjoint(with: topics)
    }

    package func report(_ topic: MonitorTopic, _ subject: MonitorSubject, _ detail: () -> MonitorDetail) {
        sink.withLock { $0 }?.receive(topic, subject, detail)
    }
}

extension TopicSet {
    /// The topics of a new request.
    static let creation: TopicSet = [
        TopicSet(.requestCreated), TopicSet(.requestUnbuilt), TopicSet(.uploadPrepared), TopicSet(.uploadFailed),
    ]

    /// The topics between the creation and the end of a request whose response is a stored one.
    static let course: TopicSet = [
        TopicSet(.requestResumed), TopicSet(.requestQueued), TopicSet(.requestPrepared), TopicSet(.attemptCreated),
        TopicSet(.attemptResumed), TopicSet(.attemptAnswered), TopicSet(.attemptReceived), TopicSet(.attemptMeasured),
        TopicSet(.attemptCompleted), TopicSet(.challengeReceived), TopicSet(.cacheHit),
    ]
}
