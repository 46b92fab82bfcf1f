// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Sends credential events to clients: `event.oauth` to those that asked for it, topics to monitors.
final class CredentialEvents: CredentialObserver, CredentialWatchers {
    /// The most watchers of a credential; a further watcher replaces the oldest.
    private static let mostWatchers = 64

    private struct Watcher {
        weak var peer: (any Peer)?
        weak var owner: MonitorOwner?
    }

    private let monitors: any ServiceMonitors
    private let caches: String?
    private let watchers = Mutex<[ByteText: [Watcher]]>([:])

    /// - Parameter caches: the directory of named caches, whose entries end with their credential.
    init(_ monitors: any ServiceMonitors, caches: String?) {
        self.monitors = monitors
        self.caches = caches
    }

    /// Sends the client events about that credential from now on.
    func watch(_ name: String, _ peer: any Peer, _ owner: MonitorOwner) {
        let watcher = Watcher(peer: peer, owner: owner)
        let key = ByteText(name)
        watchers.withLock { watchers in
            watchers = watchers.compactMapValues { list in
                let alive = list.filter { $0.peer != nil }
                return alive.isEmpty ? nil : alive
            }
            guard watchers[key]?.contains(where: { $0.peer === watcher.peer }) != true else { return }
            watchers[key] = Array((watchers[key] ?? []).suffix(Self.mostWatchers - 1)) + [watcher]
        }
    }

    func watch(created credential: CredentialSnapshot, _ peer: any Peer, _ owner: MonitorOwner) {
        watch(credential.spec.name, peer, owner)
        Self.tell([Watcher(peer: peer, owner: owner)], .created, credential)
    }

    private static func tell(_ watchers: [Watcher], _ event: CredentialEvent, _ credential: CredentialSnapshot) {
        let shape = Event("event.oauth", CredentialEventShape(event: event, credential: credential, time: .now))
        let key = "oauth/\(credential.spec.name)/\(event.name)"
        for watcher in watchers { watcher.peer?.offer(shape, key: key) }
    }

    func receive(_ event: CredentialEvent, _ credential: CredentialSnapshot) {
        let name = credential.spec.name
        if case .deleted = event { CacheOwner.forget("oauth:\(name)", in: caches) }
        let watchers = watchers.withLock { $0[ByteText(name)] ?? [] }
        Self.tell(watchers, event, credential)
        let topic: MonitorTopic
        switch event {
        case .refreshing: topic = .tokenRefreshing
        case .refreshed: topic = .tokenRefreshed
        case .failed: topic = .tokenFailed
        case .created, .changed, .deleted, .loginFailed: return
        }
        let owners = watchers.compactMap(\.owner)
        for owner in owners.isEmpty ? [nil] : owners.map(Optional.some) {
            monitors.tell(topic, MonitorSubject(owner: owner)) { .token(name, Self.failure(event)) }
        }
    }

    private static func failure(_ event: CredentialEvent) -> OAuthFailure? {
        if case .failed(let failure) = event { failure } else { nil }
    }
}

/// The params of `event.oauth`.
private struct CredentialEventShape: ObjectShape {
    var event: CredentialEvent
    var credential: CredentialSnapshot
    var time: WallTime

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("credential", credential.spec.name)
        writer.member("event", event.name)
        writer.member("at", TimeShape(time))
        writer.member("generation", Int(clamping: credential.generation))
        writer.member("expiresAt", credential.access?.expires.map { TimeShape($0.wallTime) })
        writer.member("missingScope", credential.access?.listedMissingScope)
        switch event {
        case .refreshing(let reason): writer.member("reason", reason.rawValue)
        case .failed(let failure), .loginFailed(let failure):
            writer.member("error", OAuthFailureShape(failure))
        default: return
        }
    }
}
