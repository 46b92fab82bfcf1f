// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Where clients offer to ask their person for the passphrase of the store.
///
/// The latest offer is asked first. One that is declined, or not answered, or whose answers are wrong three times, is over:
/// nobody is asked again for what he does not want to say.
final class PassphraseDesk: PassphraseSource {
    /// Asks for the passphrase of a directory, after so many wrong answers; nil for no answer.
    typealias Question = @Sendable (_ directory: String, _ failures: Int) async -> Secret?

    private struct Offer: Sendable {
        var owner: MonitorOwner
        var ask: Question
    }

    /// The oldest makes room for a further one.
    private static let mostOffers = 16
    private static let mostFailures = 3

    private let offers = Mutex<[Offer]>([])

    /// Takes the place of an earlier offer of that client.
    func offer(_ owner: MonitorOwner, ask: @escaping Question) {
        offers.withLock { offers in
            offers.removeAll { $0.owner === owner }
            offers = Array(offers.suffix(Self.mostOffers - 1)) + [Offer(owner: owner, ask: ask)]
        }
    }

    /// Nobody of that client is asked any more.
    func withdraw(_ owner: MonitorOwner) { offers.withLock { $0.removeAll { $0.owner === owner } } }

    func passphrase(of directory: String, failures: Int) async -> Secret? {
        if failures >= Self.mostFailures {
            if let latest = offers.withLock({ $0.last }) { withdraw(latest.owner) }
            return nil
        }
        while let offer = offers.withLock({ $0.last }) {
            if let passphrase = await offer.ask(directory, failures) { return passphrase }
            withdraw(offer.owner)
        }
        return nil
    }
}
