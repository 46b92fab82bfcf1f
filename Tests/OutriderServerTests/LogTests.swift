// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderServer

struct LogTests {
    private struct Line: LogLine {
        var level = LogSetting.Level.info
        var text: String

        func encodeMembers(to writer: inout JSONWriter) { writer.member("topic", "request.finished") }
    }

    /// What the end of a pipe gives until there is nothing more, or so many bytes have come.
    private func read(_ descriptor: Int32, _ most: Int = .max) -> String {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while all.count < most {
            let count = Glibc.read(descriptor, &piece, min(piece.count, most - all.count))
            if count <= 0 { break }
            all += piece[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }

    private func ends() -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private func contents(_ path: String) -> String {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        return read(file)
    }

    /// Whether the condition comes to hold within half a minute: on a busy machine, the thread of the lines may be late.
    private func comesTo(_ holds: () -> Bool) -> Bool {
        for _ in 0..<6000 {
            if holds() { return true }
            usleep(5000)
        }
        return false
    }

    @Test func `lines come in order, and the descriptor is closed after the last`() {
        let (reading, writing) = ends()
        let writer = LineWriter(writing)
        for number in 0..<100 { writer.write("line \(number)\n") { _ in "" } }
        writer.close()
        let lines = read(reading).split(separator: "\n")
        #expect(lines.map(String.init) == (0..<100).map { "line \($0)" } && writer.dropped == 0)
        close(reading)
    }

    @Test func `what is not read is dropped after a mebibyte, and counted`() {
        let (reading, writing) = ends()
        let writer = LineWriter(writing)
        let line = String(repeating: "x", count: 999) + "\n"
        for _ in 0..<4000 { writer.write(line) { "dropped \($0)\n" } }
        #expect(writer.dropped > 1000)
        let all = ConditionVariable<String?>(nil)
        let isReading = BlockingThread.start {
            let text = read(reading)
            all.change { $0 = text }
        }
        #expect(isReading)
        // until there is room again
        var (tries, before) = (0, 0)
        repeat {
            before = writer.dropped
            writer.write("next\n") { "dropped \($0)\n" }
            tries += 1
        } while writer.dropped != before
        writer.close()
        let lines = all.wait { $0 }.split(separator: "\n")
        let gaps = lines.compactMap { $0.hasPrefix("dropped ") ? Int($0.dropFirst(8)) : nil }
        #expect(gaps.reduce(0, +) == writer.dropped && lines.last == "next")
        #expect(lines.count - gaps.count + writer.dropped == 4000 + tries)
        close(reading)
    }

    @Test func `a descriptor that cannot be written is complained about once, and costs lines only`() {
        let problems = ConditionVariable<[String]>([])
        let full = open("/dev/full", O_WRONLY)
        let writer = LineWriter(full) { problem in problems.change { $0.append(problem) } }
        for _ in 0..<3 {
            writer.write("line\n") { _ in "" }
            writer.flush()
        }
        // a flush waits for a moment only
        #expect(comesTo { writer.dropped == 3 })
        #expect(problems.change { $0 } == ["No space left on device"])
        writer.close()
    }

    @Test func `a file has the time, or one JSON object per line`() throws {
        let directory = try TemporaryDirectory()
        for format in LogSetting.Format.allCases {
            let path = "\(directory.path)/\(format.rawValue)"
            let log = ServerLog(LogSetting(level: .info, target: .file, format: format, path: path))
            log.write(Line(text: "two\nlines"))
            log.write(Line(level: .debug, text: "not shown"))
            log.write(.warning, "plain")
            try #require(comesTo { contents(path).split(separator: "\n").count == 2 })
            let lines = contents(path).split(separator: "\n")
            if format == .text {
                #expect(lines[0].hasSuffix("Z info: two lines") && lines[1].hasSuffix("Z warning: plain"))
            } else {
                let line = try #require(try JSONParser.parse(Array(lines[0].utf8)).object)
                #expect(line["level"] == .string("info") && line["message"] == .string("two\nlines"))
                #expect(line["topic"] == .string("request.finished") && line["time"]?.string?.count == 24)
                #expect(try JSONParser.parse(Array(lines[1].utf8)).object?["message"] == .string("plain"))
            }
            var information = stat()
            #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `a long log whose path another thing had begins anew once the path is free`() throws {
        let folder = "/tmp/outrider-log-\(getpid())-\(Int.random(in: 0...(.max)))"
        let path = folder + "/log"
        try #require(mkdir(folder, 0o700) == 0 && mkdir(path, 0o700) == 0)
        defer {
            for name in [path, path + ".old"] { unlink(name) }
            rmdir(folder)
        }
        // the log was moved, and no new file could be opened
        let file = open(path + ".old", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(ftruncate(file, 9 << 20) == 0)
        var information = stat()
        let writer = LineWriter(file, replacing: path)
        defer { writer.close() }
        writer.write("one\n") { _ in "" }
        try #require(comesTo { stat(path + ".old", &information) == 0 && information.st_size == 9 << 20 + 4 })
        try #require(rmdir(path) == 0)
        // the thread may look at the path before or behind the removal
        #expect(
            comesTo {
                writer.write("next\n") { _ in "" }
                return contents(path).hasPrefix("next\n")
            })
        #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)
    }

    @Test func `a file that cannot be opened leaves the log where it was`() {
        let log = ServerLog(LogSetting(level: .error, target: .file, path: "/nowhere/at/all"))
        #expect(log.takesLines && log.isLogged(.error))
        log.write(.info, "not shown")
        log.flush()
    }
}
