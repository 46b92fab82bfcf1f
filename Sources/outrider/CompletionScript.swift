// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The words behind `outrider help`, which the completion scripts of the parser leave out.
enum CompletionScript {
    struct Command {
        let name: String
        /// The names of the commands below.
        let parts: [String]
    }

    /// A script for bash or zsh with the commands that `help` explains. Another script is unchanged.
    static func completed(_ script: String, commands: [Command]) -> String {
        guard let function = script.firstRange(of: "\n_outrider_help() {\n"),
            let end = script[function.upperBound...].firstRange(of: "\n}\n")
        else { return script }
        let body = String(script[function.upperBound..<end.lowerBound])
        let isBash = body.contains("__outrider_offer_flags_options")
        let whole = isBash ? bash(body, commands) : zsh(body, commands)
        return script.replaced(function.upperBound..<end.lowerBound, with: whole)
    }

    private static func names(_ commands: [Command]) -> String { commands.map(\.name).joined(separator: " ") }

    private static func cases(_ commands: [Command], _ line: (String) -> String) -> String {
        commands.filter { !$0.parts.isEmpty }.map { command in
            "        \(command.name)) \(line(command.parts.joined(separator: " "))) ;;\n"
        }.joined()
    }

    private static func bash(_ body: String, _ commands: [Command]) -> String {
        func offer(_ words: String) -> String { "COMPREPLY+=($(compgen -W '\(words)' -- \"${cur}\"))" }
        return body + """

                case "${COMP_CWORD}" in
                2) \(offer(names(commands))) ;;
                3)
                    case "${COMP_WORDS[2]}" in
            \(cases(commands, offer))        esac
                    ;;
                esac
            """
    }

    private static func zsh(_ body: String, _ commands: [Command]) -> String {
        let words = "'1:command:(\(names(commands)))'\n        '2:command:->part'"
        let named = body.replacing("'*:subcommands:'", with: words)
        let marker = "&& ret=0\n"
        guard let call = named.firstRange(of: marker) else { return body }
        let parts = """
                if [[ "${state}" = part ]]; then
                    case "${words[2]}" in
            \(cases(commands) { "compadd -- \($0) && ret=0" })        esac
                fi

            """
        return named.replaced(call, with: marker + parts)
    }
}

extension String {
    fileprivate func replaced(_ range: Range<String.Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
