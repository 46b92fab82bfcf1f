// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderTransport

/// The root command: names the subcommands, and turns their errors into an exit status.
///
/// Every command has a name in its configuration: a name made from its type takes long searches at each start.
@main
struct Outrider: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outrider",
        abstract: "HTTP for editors, shells and programs: a service that speaks JSON-RPC 2.0.",
        discussion: """
            Get a page, from a service that keeps connections warm (or, if none runs, from a private service):
              outrider get https://example.org/

            Download a file, and resume after any interruption:
              outrider download https://example.org/big.iso

            Call any method; a value after `=` is text, after `:=` JSON:
              outrider call --spawn data.send url=https://example.org/ timeout:=10

            Serve an editor on stdin and stdout, or every program of this user on a socket:
              outrider serve --stdio
              outrider serve

            Show the parameters of a method:
              outrider describe data.send
            """,
        version: ProgramVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Request",
                subcommands: [
                    GetCommand.self, PostCommand.self, PutCommand.self, PatchCommand.self, DeleteCommand.self,
                    HeadCommand.self, DownloadCommand.self, RunCommand.self, ImportCurlCommand.self,
                ]),
            CommandGroup(name: "Stream", subcommands: [SSECommand.self, WebSocketCommand.self, ConnectCommand.self]),
            CommandGroup(name: "Method", subcommands: [CallCommand.self, DescribeCommand.self, RouteCommand.self]),
            CommandGroup(
                name: "Login",
                subcommands: [
                    LoginCommand.self, LogoutCommand.self, TokenCommand.self, CredentialsCommand.self,
                    GitCredentialCommand.self, DockerCredentialCommand.self, AWSCredentialCommand.self,
                    CredentialHelperCommand.self,
                ]),
            CommandGroup(name: "Storage", subcommands: [CookiesCommand.self, CacheCommand.self]),
            CommandGroup(name: "Network", subcommands: [TrustCommand.self, ReachabilityCommand.self]),
            CommandGroup(name: "Test", subcommands: [RecordCommand.self, ReplayCommand.self]),
            CommandGroup(
                name: "Service",
                subcommands: [
                    ServeCommand.self, StatusCommand.self, StopCommand.self, RestartCommand.self, DoctorCommand.self,
                    ConfigCommand.self, StatsCommand.self, GetSocketCommand.self,
                ]),
        ])

    static func main() async {
        StandardFiles.hold()
        // A lost reader, or a full disk, fails a single write, and never ends the process.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // commands hold passwords and tokens, too: no core dumps
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        var words = Array(CommandLineWords.all.dropFirst())
        if words.elementsEqual([PKCS12Trial.word]) { PKCS12Trial.run() }
        do {
            try CommandWords.check()
            words = try ConfigFile.extended(words)
            // in front of what waits for standard input
            ProcessArguments.hideSecrets()
            words = try ShortOptions.parsable(words, by: Self.self)
            if try await startPlainly(words) { return }
            CommandWords.widen()
            if words.first == "help", let name = words.dropFirst().first { try checkHelp(of: name) }
            let requests = NextRequests.split(words)
            if requests.count > 1 {
                // every option is checked before the first request
                let commands = try requests.map { try parseAsRoot($0) }
                try NextRequests.check(commands.compactMap { ($0 as? any RequestCommand)?.call })
                let runs = commands.map { (command) -> () throws -> Void in
                    {
                        var command = command
                        try command.run()
                    }
                }
                return try NextRequests.run(runs, failsEarly: words.contains("--fail-early"))
            }
            var command = try parseAsRoot(words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.report()
            Glibc.exit(failure.code)
        } catch {
            if exitCode(for: error) == .validationFailure {
                let complaint = fullMessage(for: error)
                let names = configuration.subcommands.compactMap { $0.configuration.commandName }
                let advice = OptionAdvice.line(
                    for: complaint, of: CommandLineWords.all, commands: names, parts: parts(of: words.first))
                StandardError.write((advice.map { "outrider: \($0)" } ?? ParserComplaint.pruned(complaint)) + "\n")
                Glibc.exit(CommandFailure.Status.usage.rawValue)
            }
            if exitCode(for: error) == .success {
                let text = fullMessage(for: error)
                let isScript = words.first?.hasPrefix("--generate-completion-script") == true
                show(isScript ? CompletionScript.completed(text, commands: commands) : text)
            }
            exit(withError: error)
        }
    }

    /// The commands that help shows.
    private static var commands: [CompletionScript.Command] {
        configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap { command in
            command.configuration.commandName.map { CompletionScript.Command(name: $0, parts: parts(of: $0)) }
        }
    }

    /// The names of the commands below a command; none for other words.
    private static func parts(of name: String?) -> [String] {
        let command = configuration.subcommands.first { name != nil && $0.configuration.commandName == name }
        return (command?.configuration.subcommands ?? []).map { part in
            part.configuration.commandName ?? String(describing: part).lowercased()
        }
    }

    /// Writes help, the version or a completion script, and exits; with status 1 if the text cannot be written.
    private static func show(_ text: String) -> Never {
        do throws(CommandFailure) {
            if !text.isEmpty { try StandardOutput.line(text.utf8) }
        } catch {
            error.report()
            Glibc.exit(error.code)
        }
        Glibc.exit(0)
    }

    /// Refuses a command that does not exist: the parser would show the help of the program.
    private static func checkHelp(of name: String) throws(CommandFailure) {
        let names = configuration.subcommands.compactMap { $0.configuration.commandName }
        if name.hasPrefix("-") || name == "help" || names.contains(name) { return }
        throw CommandFailure(.usage, OptionAdvice.unknown(name, among: names))
    }

    /// Starts commands that other programs run and wait for, without the parser. False for other commands.
    private static func startPlainly(_ words: [String]) async throws -> Bool {
        if words.elementsEqual(["credential-helper"]) {
            try await CredentialHelperCommand.run()
        } else if words.first == "serve", let settings = Settings(plain: words.dropFirst()) {
            try await ServiceProcess(settings: settings).run()
        } else {
            return false
        }
        return true
    }
}
