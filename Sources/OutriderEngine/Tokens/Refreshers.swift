// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The code of clients that gets the tokens of a credential: that of the latest client, and of the client before once
/// the latest is gone.
final class Refreshers: Sendable {
    /// A further client replaces the oldest.
    private static let most = 64

    private let list: Mutex<[any TokenRefresher]>

    init(_ refresher: (any TokenRefresher)?) { list = Mutex(refresher.map { [$0] } ?? []) }

    var isEmpty: Bool { list.withLock { $0.isEmpty } }

    /// Adds the code of a client, in place of the client's earlier code.
    func add(_ refresher: any TokenRefresher) {
        list.withLock { list in
            list.removeAll { $0.client == refresher.client || $0.isGone }
            if list.count >= Self.most { list.removeFirst() }
            list.append(refresher)
        }
    }

    /// Gets a new access token. Throws `no_callback` without a client.
    func refresh(
        _ credential: CredentialSnapshot, _ reason: RefreshReason
    ) async throws(OAuthFailure) -> AccessToken {
        while let refresher = list.withLock({ $0.last }) {
            do throws(OAuthFailure) {
                return try await refresher.refresh(credential, reason)
            } catch {
                guard error.isOfGoneClient, forget(refresher) else { throw error }
            }
        }
        throw OAuthFailure(
            .temporary, "no_callback",
            "no client that runs now refreshes it: name its callback with oauth.create once more")
    }

    /// Forgets the code of a client that is gone; false for the last one.
    private func forget(_ refresher: any TokenRefresher) -> Bool {
        list.withLock { list in
            guard list.count > 1 else { return false }
            list.removeAll { $0.client == refresher.client }
            return true
        }
    }
}
