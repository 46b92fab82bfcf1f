// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The words behind `outrider help`, which the completion scripts of the parser leave out.
enum CompletionScript {
    struct Command {
        let name: String
        /// The names of the commands below.
        let parts: [String]
    }

    /// A script for bash or zsh with the commands that `help` explains, or a script for fish that is fast.
    static func completed(_ script: String, commands: [Command]) -> String {
        if script.hasPrefix("function __outrider_should_offer") { return fish(script) }
        guard let function = script.firstRange(of: "\n_outrider_help() {\n"),
            let end = script[function.upperBound...].firstRange(of: "\n}\n")
        else { return script }
        let body = String(script[function.upperBound..<end.lowerBound])
        let isBash = body.contains("__outrider_offer_flags_options")
        let whole = isBash ? bash(body, commands) : zsh(body, commands)
        return script.replaced(function.upperBound..<end.lowerBound, with: whole)
    }

    /// Without these changes fish takes minutes behind `outrider get --ou`: it reads the line for each option of each
    /// command, and takes the list of options for the line once a word is no option yet.
    private static func fish(_ script: String) -> String {
        let reading = "    set -l commands\n    __outrider_parse_tokens\n"
        let line = "(string join -- ' ' (__outrider_tokens -pc))"
        let test = "string match -q -- \"$expected_commands*\" \(line); or return 1"
        let parsing = "argparse -sn \"$commands\" $option_specs -- $unparsed_tokens 2> /dev/null\n"
        let taking = "        set unparsed_tokens $argv\n"
        return script.replacing(reading, with: reading.replacing("    __", with: "    \(test)\n    __"))
            .replacing(parsing + taking, with: "if \(parsing)    \(taking)        end\n")
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
