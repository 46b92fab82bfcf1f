// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The credentials on disk, and their key. Needs no service.
struct CredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials",
        abstract: "Shows the credentials on disk, and the key that seals them.",
        discussion: """
            Credentials are kept on disk only after a key was chosen; until then they live in the memory of \
            the service, until the service ends.

              outrider credentials
              outrider credentials key secret-service
              outrider credentials forget work
            """,
        subcommands: [List.self, Key.self, Unlock.self, Lock.self, Import.self, Forget.self],
        defaultSubcommand: List.self)

    /// Runs an operation on the store; the message of a failure names the remedy.
    static func reporting<Value>(
        _ work: () async throws(OAuthFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        do throws(OAuthFailure) {
            return try await work()
        } catch {
            throw CommandFailure(.error, "\(error.message) [\(error.reason)]")
        }
    }

    static func root(_ options: StoreOptions) throws(CommandFailure) -> StoreRoot {
        guard let root = options.vault().disk else {
            throw CommandFailure(.usage, "this user has no home; name a directory with --credentials")
        }
        return root
    }
}

extension CredentialsCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists credentials: name, state, generation, validity of the token in seconds, missing scope.")

        @OptionGroup var store: StoreOptions

        func run() async throws {
            let vault = store.vault()
            let root = try CredentialsCommand.root(store)
            let key = try await reporting { () throws(OAuthFailure) in try vault.diskKey() }
            StandardError.line("\(root.directory): \(key.map(Self.describe) ?? Self.memoryOnly)")
            for one in try await reporting({ () throws(OAuthFailure) in try await vault.list() }) {
                try StandardOutput.line(Self.line(one).utf8)
            }
        }

        private static let memoryOnly =
            "no key is chosen, so nothing is kept on disk, and logins end with the service; see outrider credentials key"

        static func describe(_ key: KeySource) -> String {
            switch key {
            case .none, .raw: memoryOnly
            case .file(let path):
                "sealed with the key in \(path), which does not protect against a stolen disk that holds both"
            case .command(let words): "sealed with the key that \(words.joined(separator: " ")) prints"
            case .secretService: "sealed with a key that the desktop's keyring keeps"
            case .passphrase: "sealed with a key made of a passphrase, kept by the kernel until the machine stops"
            }
        }

        static func line(_ one: CredentialSnapshot) -> String {
            let state =
                switch one.state {
                case .empty: "empty"
                case .ready: "ready"
                case .unsaved: "unsaved"
                case .needsLogin(let failure): "needsLogin:\(failure.reason.printable)"
                }
            let left = one.access?.validity(at: Clocks.now).map { max(0, $0).rounded(.down) }
            let seconds = left.flatMap { Int(exactly: $0) }.map(\.description) ?? "-"
            let missing = one.access?.missingScope ?? []
            let refused = missing.isEmpty ? "" : "\tnot granted: \(missing.joined(separator: " ").printable)"
            return "\(one.spec.name.printable)\t\(state)\t\(one.generation)\t\(seconds)\(refused)"
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key",
            abstract: "Chooses the key that seals the credentials on disk; without a choice, shows the key.",
            discussion: """
                key file PATH          a key in a file, created if missing. Protects against a person who has
                                       the credentials but not that file; not against a thief of the disk.
                key command WORDS…     a program prints the key, 64 hexadecimal digits. Runs without a shell, for 5 s.
                key secret-service     the desktop's keyring, asked through secret-tool, for 3 seconds.
                key passphrase         asked here, and after each start of the machine by outrider credentials unlock.
                key none               nothing is kept on disk; only for an empty store.

                Existing records are sealed again, all or none, and the present key must be available. So the \
                passphrase is changed, too.
                """)

        @OptionGroup var store: StoreOptions

        @Argument(parsing: .captureForPassthrough, help: "The source of the key, and its arguments.")
        var choice: [String] = []

        func run() async throws {
            // words after `command` belong to that program, so the parser does not look for options
            if ["--help", "-h"].contains(choice.first) { throw CleanExit.helpRequest(self) }
            // the command may prompt for a passphrase
            CredentialHelper.hide()
            let root = try CredentialsCommand.root(store)
            guard !choice.isEmpty else {
                let key = try await reporting { () throws(OAuthFailure) in try store.vault().diskKey() }
                return try StandardOutput.line(List.describe(key ?? .none).utf8)
            }
            var words = choice
            if words.count == 2, words[0] == "file", let path = Self.absolute(words[1]) { words[1] = path }
            guard let source = KeySource(lines: words) else {
                throw CommandFailure(
                    .usage, "choose file PATH, command WORDS, secret-service, passphrase or none; see --help")
            }
            let passphrase = source == .passphrase ? try Passphrase.ask(twice: true) : nil
            let vault = store.vault()
            try await reporting { () async throws(OAuthFailure) in
                // the same words may mean another passphrase
                let isOther = try root.chosenKey() != source || source == .passphrase
                let holds = try root.holdsCredentials()
                if isOther, holds {
                    try await vault.rekey(to: source, passphrase: passphrase)
                } else {
                    try KeyChoice(root).choose(source, passphrase: passphrase)
                }
            }
            if source != .none { StandardError.line("outrider: \(List.describe(source))") }
        }

        private static func absolute(_ path: String) -> String? {
            if path.hasPrefix("/") { return path }
            guard let here = getcwd(nil, 0) else { return nil }
            defer { free(here) }
            return "\(String(cString: here))/\(path)"
        }
    }

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unlock", abstract: "Asks for the passphrase; good until the machine stops.")

        @OptionGroup var store: StoreOptions

        func run() async throws {
            CredentialHelper.hide()
            let root = try CredentialsCommand.root(store)
            let passphrase = try Passphrase.ask(twice: false)
            try await reporting { () throws(OAuthFailure) in try KeyChoice(root).unlock(with: passphrase) }
        }
    }

    struct Lock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lock", abstract: "Forgets the key that was unlocked.")

        @OptionGroup var store: StoreOptions

        func run() async throws { KeyChoice(try CredentialsCommand.root(store)).lock() }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget", abstract: "Removes a credential; its tokens are revoked first, where they can be.")

        @OptionGroup var store: StoreOptions

        @Argument(help: "Its name.")
        var name: String?

        @Flag(name: .long, help: "Do not revoke its tokens at the server.")
        var keepTokens = false

        @Flag(name: .long, help: "In place of a name: all credentials, for a store whose key is lost.")
        var lostKey = false

        func validate() throws {
            if (name == nil) != lostKey { throw ValidationError("name a credential, or say --lost-key") }
        }

        func run() async throws {
            guard let name else { return try await forgetAll() }
            let vault = store.vault(
                trustRoots: environmentVariable("SSL_CERT_FILE"), proxy: environmentVariable("OUTRIDER_PROXY"))
            try await reporting { () async throws(OAuthFailure) in
                if try await Self.isUnknown(name, to: vault) {
                    throw OAuthFailure(
                        .config, "unknown_credential",
                        "there is no credential '\(name)'; outrider credentials lists all names")
                }
                try await vault.erase(name, spec: true, revoke: !keepTokens)
            }
        }

        private static func isUnknown(_ name: String, to vault: HelperVault) async throws(OAuthFailure) -> Bool {
            do throws(OAuthFailure) {
                return try await vault.read(name) == nil
            } catch {
                // a damaged record exists, and can be put aside
                if error.reason == "record_damaged" { return false }
                throw error
            }
        }

        private func forgetAll() async throws {
            let root = try CredentialsCommand.root(store)
            if isatty(STDIN_FILENO) == 1 {
                // prompt before locking the store, so that no process waits for the user
                StandardError.write("All that is kept in \(root.directory) will be gone. Type yes: ")
                guard readLine() == "yes" else { throw CommandFailure(.usage, "nothing was removed") }
            }
            try await reporting { () throws(OAuthFailure) in
                try KeyChoice(root).forgetLostKey(try store.vault().diskKey() ?? .none) { count in
                    StandardError.line(
                        "outrider: \(count) in \(root.directory) cannot be opened, and are removed; what servers gave for "
                            + "them is not revoked")
                }
            }
        }
    }
}

/// Prompts on the terminal without echo; without a terminal, reads standard input.
enum Passphrase {
    static func ask(twice: Bool) throws(CommandFailure) -> Secret {
        let first = try HiddenPrompt.line("Passphrase: ")
        if twice, isatty(STDIN_FILENO) == 1, try HiddenPrompt.line("Once more: ") != first {
            throw CommandFailure(.usage, "these were two different passphrases")
        }
        return Secret(first)
    }
}
