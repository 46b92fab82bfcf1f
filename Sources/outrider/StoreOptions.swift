// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine

/// The directory and the key of credentials on disk: for the service, and for the commands that need no service.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long, help: "The directory of credentials; else $OUTRIDER_CREDENTIALS, else this user's place.",
        completion: .directory)
    var credentials: String?

    @Option(
        name: .long,
        help: """
            The key: file:PATH, command:WORDS, secret-service, passphrase or none; else \
            $OUTRIDER_CREDENTIAL_KEY, else the choice of outrider credentials key.
            """)
    var credentialKey: String?

    mutating func validate() throws {
        var settings = settings
        try settings.complete()
        (credentials, credentialKey) = (settings.credentials, settings.credentialKey)
    }

    var settings: StoreSettings { StoreSettings(credentials: credentials, credentialKey: credentialKey) }

    func vault(trustRoots: String? = nil, proxy: String? = nil) -> HelperVault {
        settings.vault(trustRoots: trustRoots, proxy: proxy)
    }
}

/// The same without flags.
struct StoreSettings: Sendable {
    var credentials: String?
    var credentialKey: String?

    /// Reads settings without a flag from the environment. Throws ValidationError for invalid values.
    mutating func complete() throws {
        if credentials == nil { credentials = environmentVariable("OUTRIDER_CREDENTIALS") }
        if credentialKey == nil { credentialKey = environmentVariable("OUTRIDER_CREDENTIAL_KEY") }
        if let word = credentialKey, KeySource(word: word) == nil {
            throw ValidationError(
                "--credential-key, or OUTRIDER_CREDENTIAL_KEY, is \(word), and must be file:/PATH, command:WORDS, "
                    + "secret-service, passphrase or none")
        }
        if let path = credentials, !path.hasPrefix("/") { credentials = Self.absolute(path) }
    }

    /// The vault, whose secrets are in plain form only in helper processes.
    func vault(trustRoots: String? = nil, proxy: String? = nil) -> HelperVault {
        HelperVault(
            directory: credentials, key: credentialKey.flatMap { KeySource(word: $0) }, trustRoots: trustRoots,
            proxy: proxy)
    }

    /// Helpers have another working directory.
    private static func absolute(_ path: String) -> String {
        guard let here = getcwd(nil, 0) else { return path }
        defer { free(here) }
        return "\(String(cString: here))/\(path)"
    }
}
