// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine
import OutriderHTTP

/// Offers keys for the credentials on disk, before the first login of a user.
enum KeyOffer {
    private enum Choice: String {
        case keyring = "1"
        case file = "2"
        case passphrase = "3"
        case memory = "4"
    }

    /// Whether logins outlive the service from now on.
    static func make() async throws -> Bool {
        let store = try StoreOptions.parse([])
        let key = try await CredentialsCommand.reporting { () throws(OAuthFailure) in try store.vault().diskKey() }
        if key != nil { return true }
        guard store.credentialKey == nil, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            StandardError.line(
                "outrider: no key seals credentials on disk, so this login ends with the service (choose a key with "
                    + "`outrider credentials key`)")
            return false
        }
        guard let source = try ask() else { return false }
        let root = try CredentialsCommand.root(store)
        let passphrase = source == .passphrase ? try Passphrase.ask(twice: true) : nil
        try await CredentialsCommand.reporting { () throws(OAuthFailure) in
            try KeyChoice(root).choose(source, passphrase: passphrase)
        }
        StandardError.line("\(root.directory): \(CredentialsCommand.List.describe(source))")
        return true
    }

    private static func ask() throws(CommandFailure) -> KeySource? {
        let path = try keyPath()
        let first = hasKeyring ? Choice.keyring : .file
        StandardError.write(
            """
            No key seals logins on disk yet, so they would end with the service. Where is the key to be?
            \(hasKeyring ? "  1  in the keyring of the desktop\n" : "")  2  in the file \(path.printable)
              3  in a passphrase, asked after each start of the machine
              4  nowhere: this login ends with the service
            Choice [\(first.rawValue)]:\u{20}
            """)
        guard let line = readLine()?.filter({ !$0.isWhitespace }) else {
            throw CommandFailure(.usage, "no key was chosen")
        }
        switch line.isEmpty ? first : Choice(rawValue: line) {
        case .keyring: return .secretService
        case .file:
            try makeFolder(of: path)
            return .file(path)
        case .passphrase: return .passphrase
        case .memory: return nil
        case nil: throw CommandFailure(.usage, "\(FieldRules.shown(line)) is none of the choices")
        }
    }

    private static var hasKeyring: Bool {
        guard environmentVariable("DBUS_SESSION_BUS_ADDRESS") != nil else { return false }
        let folders = (environmentVariable("PATH") ?? "/usr/bin").split(separator: ":")
        return folders.contains { access("\($0)/secret-tool", X_OK) == 0 }
    }

    /// Beside the configuration, and not beside the data that the key opens.
    private static func keyPath() throws(CommandFailure) -> String {
        if let folder = environmentVariable("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
            return "\(folder)/outrider/key"
        }
        guard let home = environmentVariable("HOME"), home.hasPrefix("/") else {
            throw CommandFailure(.usage, "$HOME is not set: choose a key with `outrider credentials key`")
        }
        return "\(home)/.config/outrider/key"
    }

    private static func makeFolder(of path: String) throws(CommandFailure) {
        var folder = ""
        for part in path.split(separator: "/").dropLast() {
            folder += "/\(part)"
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw CommandFailure(.usage, "cannot make \(folder): \(systemError(errno))")
            }
        }
    }
}
