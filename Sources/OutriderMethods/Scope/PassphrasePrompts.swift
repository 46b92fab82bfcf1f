// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// The clients that offer to prompt their user for the passphrase of the store.
///
/// The latest offer comes first. An offer ends when the prompt is declined or has no reply, or after three wrong
/// passphrases: the user is not prompted again.
final class PassphrasePrompts: PassphraseSource {
    /// Prompts for the passphrase of a directory, after that many wrong ones; nil without a passphrase.
    typealias Prompt = @Sendable (_ directory: String, _ failures: Int) async -> Secret?

    private struct Offer: Sendable {
        var owner: MonitorOwner
        var prompt: Prompt
    }

    /// A further offer replaces the oldest.
    private static let mostOffers = 16
    private static let mostFailures = 3

    private let offers = Mutex<[Offer]>([])

    /// Replaces an earlier offer of that client.
    func offer(_ owner: MonitorOwner, prompt: @escaping Prompt) {
        offers.withLock { offers in
            offers.removeAll { $0.owner === owner }
            offers = Array(offers.suffix(Self.mostOffers - 1)) + [Offer(owner: owner, prompt: prompt)]
        }
    }

    /// Removes the offer of that client.
    func withdraw(_ owner: MonitorOwner) { offers.withLock { $0.removeAll { $0.owner === owner } } }

    func passphrase(of directory: String, failures: Int) async -> Secret? {
        if failures >= Self.mostFailures {
            if let latest = offers.withLock({ $0.last }) { withdraw(latest.owner) }
            return nil
        }
        while let offer = offers.withLock({ $0.last }) {
            if let passphrase = await offer.prompt(directory, failures) { return passphrase }
            withdraw(offer.owner)
        }
        return nil
    }
}
