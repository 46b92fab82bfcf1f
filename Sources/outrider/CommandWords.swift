// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Checks on the words from the shell, before the parser.
enum CommandWords {
    /// The narrowest screen for help: the parser crashes on much less.
    private static let narrowest = 40

    /// Refuses words that are not UTF-8: decoding would change them, and name another file.
    static func check() throws(CommandFailure) {
        for (index, word) in CommandLineWords.pointers.enumerated().dropFirst() {
            guard String(validatingCString: word) == nil else { continue }
            throw CommandFailure(
                .usage,
                "argument \(index), \(String(cString: word)), is not UTF-8: give a file another name, and send other bytes"
                    + " from a file or a pipe (-d @FILE)")
        }
    }

    /// Makes the parser lay help out for a screen of at least that width.
    static func widen() {
        var size = winsize()
        let named = environmentVariable("COLUMNS").flatMap { Int($0) }
        let seen = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
        if let columns = named ?? seen, columns < narrowest { setenv("COLUMNS", String(narrowest), 1) }
    }

    /// The absolute path, because the service has another working directory.
    static func absolute(_ path: String) throws(CommandFailure) -> String {
        if path.hasPrefix("/") { return path }
        guard let here = getcwd(nil, 0) else {
            throw CommandFailure(.usage, "this directory has no name any more: \(systemError(errno))")
        }
        defer { free(here) }
        guard let base = String(validatingCString: here) else {
            throw CommandFailure(.usage, "the name of this directory is not UTF-8: go to another one")
        }
        return path == "." ? base : (base == "/" ? "" : base) + "/" + path
    }
}
