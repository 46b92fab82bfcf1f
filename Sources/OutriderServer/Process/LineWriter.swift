// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles

/// Writes lines to a descriptor on a thread of its own, all waiting lines at once. At most 1 MiB waits; further lines
/// are dropped, and the next line that fits is preceded by their number.
///
/// The descriptor stays blocking: other processes share it, and could not cope with O_NONBLOCK.
final class LineWriter: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        /// Dropped lines since the last report.
        var untold = 0
        /// All dropped lines, including those that could not be written.
        var dropped = 0
        var isStarted = false
        var isWriting = false
        var isClosing = false
    }

    private static let most = 1 << 20
    private let state = ConditionVariable(State())
    /// A longer file of the service's own is replaced.
    private static let longest: off_t = 8 << 20
    private let descriptor: Int32
    private let path: String?
    private let complain: @Sendable (String) -> Void

    /// - Parameters:
    ///   - path: of the descriptor's file, if the service may replace the file.
    ///   - complain: called on the writer's thread, once for each time that writing begins to fail.
    init(_ descriptor: Int32, replacing path: String? = nil, complain: @escaping @Sendable (String) -> Void = { _ in })
    {
        self.descriptor = descriptor
        self.path = path
        self.complain = complain
    }

    var dropped: Int { state.change { $0.dropped } }

    /// - Parameter gap: the line that reports how many were dropped.
    func write(_ line: String, gap: (Int) -> String) {
        let bytes = Array(line.utf8)
        let starts = state.change { state in
            guard !state.isClosing, state.waiting.count + bytes.count <= Self.most else {
                state.untold += 1
                state.dropped += 1
                return false
            }
            if state.untold > 0 { state.waiting += gap(state.untold).utf8 }
            state.untold = 0
            state.waiting += bytes
            defer { state.isStarted = true }
            return !state.isStarted
        }
        // without a thread the lines wait for the next one, which tries again
        if starts, !BlockingThread.start({ self.run() }) { state.change { $0.isStarted = false } }
    }

    /// Closes the descriptor after all waiting lines are written.
    func close() {
        let isIdle = state.change { state in
            state.isClosing = true
            return !state.isStarted
        }
        if isIdle { Glibc.close(descriptor) }
    }

    func flush() {
        _ = state.wait(milliseconds: 200) { $0.waiting.isEmpty && !$0.isWriting ? true : nil }
    }

    /// Ends when the descriptor is closed.
    private func run() {
        var isFailing = false
        while true {
            let bytes = state.wait { state -> [UInt8]? in
                guard !state.waiting.isEmpty || state.isClosing else { return nil }
                defer { state.waiting = [] }
                state.isWriting = true
                return state.waiting
            }
            if bytes.isEmpty { break }
            let problem = writeAll(bytes)
            replaceIfLong()
            state.change { state in
                if problem != nil { state.dropped += bytes.count { $0 == UInt8(ascii: "\n") } }
                state.isWriting = false
            }
            if let problem, !isFailing { complain(problem) }
            isFailing = problem != nil
        }
        Glibc.close(descriptor)
        state.change { $0.isWriting = false }
    }

    /// A long file becomes PATH.old, in the place of the last one, and a new file begins. If that file cannot be opened,
    /// or another process moved the long one, the next lines only open PATH.
    private func replaceIfLong() {
        var (own, there) = (stat(), stat())
        guard let path, fstat(descriptor, &own) == 0, own.st_size > Self.longest else { return }
        let isThere = lstat(path, &there) == 0 && (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
        guard !isThere || rename(path, path + ".old") == 0,
            let file = try? CheckedFile.open(path, O_WRONLY | O_CREAT | O_APPEND, .own)
        else { return }
        dup2(file, descriptor)
        Glibc.close(file)
    }

    /// Why writing failed; nil if all bytes were written.
    private func writeAll(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start)
                if count > 0 {
                    start += count
                } else if errno == EAGAIN {
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    if poll(&wanted, 1, 10_000) <= 0 { return "the reader takes nothing" }
                } else if errno != EINTR {
                    return errnoText()
                }
            }
            return nil
        }
    }
}
