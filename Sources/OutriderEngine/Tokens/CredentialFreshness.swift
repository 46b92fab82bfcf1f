// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension SharedCredential {
    /// Takes over changes to the record by other processes. False if the credential was deleted or replaced.
    ///
    /// - Parameters:
    ///   - boot: now, by the clock that counts sleep.
    ///   - atOnce: read the store even if read within the last two seconds.
    func isCurrent(at boot: Double, atOnce: Bool) async -> Bool {
        let snapshot = snapshot
        // a refresh or change under way brings the new state anyway
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
            // the store is locked or unreadable: the known state stays
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

    /// Reads the store every two seconds as long as a caller waits: a login in another program ends the wait.
    func watch() {
        guard sight.beginWatch() else { return }
        _ = source.later(RecordFreshness.interval) { [weak self] in
            guard let self else { return }
            sight.endWatch()
            guard isAwaited else { return }
            watch()
            Task.detached { [self] in
                // the credential was deleted: its waiters get no token
                if await !isCurrent(at: source.now.boot, atOnce: true) { clear(because: nil) }
            }
        }
    }

    /// Restores a credential whose deletion failed.
    func restore(_ snapshot: CredentialSnapshot) { take(snapshot, because: nil) }
}
