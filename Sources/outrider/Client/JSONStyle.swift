// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// How JSON is written, with the words of httpie.
enum JSONStyle: String, ExpressibleByArgument, CaseIterable {
    case all, colors, format, none

    /// Without colours where $NO_COLOR is set (no-color.org), and on a terminal that knows none.
    static var ofTerminal: JSONStyle {
        let isPlain = environmentVariable("NO_COLOR").map { !$0.isEmpty } ?? false
        return isPlain || environmentVariable("TERM") == "dumb" ? .format : .all
    }

    /// Nil where the bytes stay as they are.
    var painter: JSONPainter? {
        self == .none ? nil : JSONPainter(colours: self != .format, layout: self != .colors)
    }
}

extension StandardOutput {
    /// A line of JSON; on a terminal indented and coloured.
    static func json(_ text: some Collection<UInt8>) throws(CommandFailure) {
        guard isatty(STDOUT_FILENO) == 1, var painter = JSONStyle.ofTerminal.painter else { return try line(text) }
        try write(painter.paint(text) + painter.finish())
    }
}
