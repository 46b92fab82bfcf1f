// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON

/// Draws the events of progress on standard error, where that is a terminal: one line that is written over, and kept when
/// its body has come to its end. Of short bodies nothing is drawn.
final class ProgressMeter {
    /// Shorter bodies end before a person can read the line.
    private static let shortBytes: Int64 = 1 << 18

    private var isDrawn = false

    /// Nil if standard error is no terminal.
    init?(isSilent: Bool = false) {
        // a line is written over by what a dumb terminal does not know
        guard !isSilent, isatty(STDERR_FILENO) == 1, environmentVariable("TERM") != "dumb" else { return nil }
    }

    /// Takes an event of the service; ignores everything but progress.
    func receive(_ line: [UInt8]) {
        guard let message = try? JSONParser.parse(line, limits: .generous).object,
            message["method"]?.string == "event.progress", let params = message["params"]?.object,
            let completed = params["completed"]?.integer
        else { return }
        let total = params["total"]?.integer
        guard isDrawn || max(completed, total ?? 0) >= Self.shortBytes else { return }
        let progress = ProgressLine(
            completed: completed, total: total, fraction: params["fraction"]?.number, rate: params["rate"]?.number,
            remaining: params["remaining"]?.number)
        StandardError.write("\r\(progress.text(width: Self.width - 1))\u{1B}[K")
        isDrawn = true
        if completed == total, params["estimated"] == nil { end() }
    }

    /// The drawn line stays, and later output begins on a new line.
    func end() {
        if isDrawn { StandardError.write("\n") }
        isDrawn = false
    }

    /// The width of the terminal; 80 if unknown.
    private static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)  // safe: a UInt16
    }
}
