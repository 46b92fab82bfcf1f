// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Asks a person for the passphrase of a locked store.
package protocol PassphraseSource: AnyObject, Sendable {
    /// The passphrase; nil if no person can be asked or the person declines, and the store stays locked.
    ///
    /// - Parameters:
    ///   - directory: of the store.
    ///   - failures: the number of wrong passphrases so far.
    func passphrase(of directory: String, failures: Int) async -> Secret?
}

/// Unlocks a store with the passphrase of a person, once for all orders that find the store locked.
final class PassphrasePrompt: Sendable {
    private let source: any PassphraseSource
    private let flight = SingleFlight<Bool>()

    init(_ source: any PassphraseSource) { self.source = source }

    /// Whether the store is unlocked now. False when the task is cancelled; the prompt stays open.
    func unlocks(_ place: CredentialPlace) async -> Bool {
        await flight.join { [source] in
            var failures = 0
            while let passphrase = await source.passphrase(of: place.directory, failures: failures) {
                let response = await HelperProcess.run(HelperRequest(.unlock(passphrase), in: place)).response
                guard case .failure(let failure) = response else { return true }
                if failure.reason != "wrong_passphrase" { return false }
                failures += 1
            }
            return false
        } ?? false
    }
}
