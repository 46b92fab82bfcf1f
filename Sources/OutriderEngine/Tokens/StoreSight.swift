// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// How often one looks whether the record of a credential is the one that is known, and who looks.
final class StoreSight: Sendable {
    /// Seconds.
    static let interval = 2.0

    private let last = Mutex(-interval)
    private let isWatched = Mutex(false)
    /// Callers that come during a read wait for its result.
    let looking = SharedFlight<Bool>()

    /// - Parameter boot: now, by the clock that counts sleep.
    func isDue(at boot: Double, atOnce: Bool) -> Bool {
        last.withLock { last in
            // a clock that was set back, as in a container that was moved, must not keep anybody from looking
            guard atOnce || boot - last >= Self.interval || boot < last else { return false }
            last = boot
            return true
        }
    }

    /// False if a watch runs already.
    func beginWatch() -> Bool {
        isWatched.withLock { isWatched in
            defer { isWatched = true }
            return !isWatched
        }
    }

    func endWatch() { isWatched.withLock { $0 = false } }

    /// The next caller looks.
    func expire() { last.withLock { $0 = -Self.interval } }
}

extension SharedCredential {
    /// Takes over what another process has done to its record since. False if that was deleted, or is another one's.
    ///
    /// - Parameters:
    ///   - boot: now, by the clock that counts sleep.
    ///   - atOnce: whatever was seen within the last two seconds.
    func isCurrent(at boot: Double, atOnce: Bool) async -> Bool {
        let snapshot = snapshot
        // what is under way here brings what it finds
        guard snapshot.spec.persistence == .disk, sight.isDue(at: boot, atOnce: atOnce), !isRefreshing,
            !changes.areTaken, let mark = source.mark(name), mark != snapshot.mark
        else { return true }
        return await sight.looking.join { [self] in await compare() } ?? true
    }

    private func compare() async -> Bool {
        let before = snapshot
        let found: CredentialSnapshot?
        do throws(OAuthFailure) {
            found = try await source.vault?.read(name)
        } catch {
            // it is locked, or cannot be read: what was known still is
            return true
        }
        guard let found, found.birth == before.birth else { return false }
        if isRefreshing || changes.areTaken || snapshot != before { return true }
        if found.generation != before.generation {
            loggedOut(leaving: found)
        } else if found.spec != before.spec {
            var same = before
            same.spec = found.spec
            same.mark = found.mark
            take(same, because: .changed)
        } else {
            note(found.mark)
        }
        return true
    }

    /// Looks every two seconds as long as a caller waits: a login in another program ends the wait.
    func watch() {
        guard sight.beginWatch() else { return }
        _ = source.later(StoreSight.interval) { [weak self] in
            guard let self else { return }
            sight.endWatch()
            guard isAwaited else { return }
            watch()
            Task.detached { [self] in
                // it is gone, and what they wait for does not come
                if await !isCurrent(at: source.now.boot, atOnce: true) { clear(because: nil) }
            }
        }
    }

    /// It was to be deleted, and is not.
    func restore(_ snapshot: CredentialSnapshot) { take(snapshot, because: nil) }
}
