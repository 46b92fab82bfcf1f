// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Synchronization

/// Asks for a secret.
enum HiddenPrompt {
    /// The original settings of the terminal; atomic, since a handler of signals takes no locks.
    private static let before = Atomic(0)

    private static let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// On the terminal, unseen; or the first line of standard input where that is none. Nothing at all is refused.
    static func line(_ prompt: String) throws(CommandFailure) -> String {
        var seen = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &seen) == 0
        if isTerminal {
            hide(seen)
            StandardError.write(prompt)
        }
        defer {
            if isTerminal {
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &seen)
                for number in ends { signal(number, SIG_DFL) }
                StandardError.write("\n")
            }
        }
        var bytes: [UInt8] = []
        while !bytes.contains(UInt8(ascii: "\n")), let piece = try FileBytes.read(STDIN_FILENO) { bytes += piece }
        if bytes.isEmpty { throw CommandFailure(.usage, "standard input ended before the secret came") }
        var line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return try StandardInput.text(Array(line), of: "the secret")
    }

    /// Signals restore the terminal before they end the program.
    private static func hide(_ seen: termios) {
        let place = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        place.initialize(to: seen)
        // the commands that ask do so once or twice: what was stored before is left
        before.store(Int(bitPattern: place), ordering: .releasing)
        for number in ends {
            signal(number) { number in
                let seen = UnsafeMutablePointer<termios>(bitPattern: HiddenPrompt.before.load(ordering: .acquiring))
                if let seen { tcsetattr(STDIN_FILENO, TCSANOW, seen) }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
        var unseen = seen
        unseen.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen)
    }
}
