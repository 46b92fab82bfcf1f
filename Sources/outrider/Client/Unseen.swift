// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Asks for a secret.
enum Unseen {
    /// On the terminal, unseen; or the first line of standard input where that is none.
    static func line(_ prompt: String) throws(CommandFailure) -> String {
        var seen = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &seen) == 0
        if isTerminal {
            var unseen = seen
            unseen.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen)
            StandardError.write(prompt)
        }
        defer {
            if isTerminal {
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &seen)
                StandardError.write("\n")
            }
        }
        var bytes: [UInt8] = []
        while !bytes.contains(UInt8(ascii: "\n")), let piece = try FileBytes.read(STDIN_FILENO) { bytes += piece }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
