// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Writes lines to descriptors on a thread of its own. At most 64 KiB wait; what comes then is dropped, and the next line
/// that fits says how many were.
///
/// The descriptor itself stays blocking: it is shared with other processes, which would suffer.
final class LineWriter: Sendable {
    private struct State {
        var lines: [(text: [UInt8], descriptor: Int32)] = []
        var bytes = 0
        var dropped = 0
        var started = false
        var writing = false
    }

    private static let most = 64 << 10
    private let state = Monitor(State())

    func write(_ line: String, to descriptor: Int32) {
        let starts = state.change { state in
            let bytes = Array(line.utf8)
            guard state.bytes + bytes.count <= Self.most else {
                state.dropped += 1
                return false
            }
            if state.dropped > 0 {
                state.lines.append((Array("outrider: \(state.dropped) log lines were dropped\n".utf8), descriptor))
                state.dropped = 0
            }
            state.lines.append((bytes, descriptor))
            state.bytes += bytes.count
            defer { state.started = true }
            return !state.started
        }
        if starts { BlockingThread.start { self.run() } }
    }

    /// Closes the descriptor after what is queued for it.
    func close(_ descriptor: Int32) {
        let idle = state.change { state in
            guard state.started else { return true }
            state.lines.append(([], descriptor))
            return false
        }
        if idle { Glibc.close(descriptor) }
    }

    func flush() {
        _ = state.wait(milliseconds: 200) { $0.lines.isEmpty && !$0.writing ? true : nil }
    }

    /// Never ends: one thread for the life of the process.
    private func run() {
        while true {
            let (text, descriptor) = state.wait { state in
                guard !state.lines.isEmpty else { return ([UInt8], Int32)?.none }
                let line = state.lines.removeFirst()
                state.bytes -= line.text.count
                state.writing = true
                return line
            }
            if text.isEmpty { Glibc.close(descriptor) } else { Self.writeAll(text, to: descriptor) }
            state.change { $0.writing = false }
        }
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start)
                if count > 0 {
                    start += count
                } else if errno == EAGAIN {
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    if poll(&wanted, 1, 10_000) <= 0 { return }
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
