// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Tells clients what happens to credentials: `event.oauth` for those that asked for it, topics for those who watch.
final class CredentialBoard: CredentialObserver, CredentialWatchers {
    /// Of one credential; the one that asked first is forgotten for a further one.
    private static let mostWatchers = 64

    private struct Watcher {
        weak var peer: (any Peer)?
        weak var owner: MonitorOwner?
    }

    private let monitors: any ServiceMonitors
    private let watchers = Mutex<[String: [Watcher]]>([:])

    init(_ monitors: any ServiceMonitors) { self.monitors = monitors }

    /// From now on the client hears of that credential.
    func watch(_ name: String, _ peer: any Peer, _ owner: MonitorOwner) {
        let watcher = Watcher(peer: peer, owner: owner)
        watchers.withLock { watchers in
            watchers = watchers.compactMapValues { list in
                let alive = list.filter { $0.peer != nil }
                return alive.isEmpty ? nil : alive
            }
            guard watchers[name]?.contains(where: { $0.peer === watcher.peer }) != true else { return }
            watchers[name] = Array((watchers[name] ?? []).suffix(Self.mostWatchers - 1)) + [watcher]
        }
    }

    func heard(_ event: CredentialEvent, _ credential: CredentialSnapshot) {
        let name = credential.spec.name
        let watchers = watchers.withLock { $0[name] ?? [] }
        let shape = Event("event.oauth", CredentialEventShape(event: event, credential: credential, time: .now))
        let key = "oauth/\(name)/\(event.name)"
        for watcher in watchers { watcher.peer?.offer(shape, key: key) }
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
private struct CredentialEventShape: JSONEncodable {
    var event: CredentialEvent
    var credential: CredentialSnapshot
    var time: WallTime

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
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
}
