// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP
import Synchronization

/// The Public Suffix List in use: the newest of the built-in list, Debian's, and the file of a setting.
package final class SuffixLists: Sendable {
    package struct Choice: Sendable {
        package var list: PublicSuffixes
        /// `built in`, or the path of the file.
        package var source: String
        /// The reason why the file of the setting is not used; nil if used or not set.
        package var problem: String?
    }

    private static let debian = "/usr/share/publicsuffix/public_suffix_list.dat"
    private static let builtInSource = "built in"
    /// Limit of a list's file.
    private static let mostBytes = 16 << 20

    private let file: String?
    private let choice = Mutex<Choice?>(nil)

    init(file: String?) { self.file = file }

    /// Chosen at the first use, which reads files.
    package var current: Choice {
        choice.withLock { choice in
            if let choice { return choice }
            let found = choose()
            choice = found
            return found
        }
    }

    /// Facts on the list; does not load an unused list.
    package struct Facts: Sendable {
        package var source: String
        /// `YYYY-MM-DD`; nil if unknown.
        package var date: String?
        package var problem: String?
    }

    package var facts: Facts {
        let known = choice.withLock { $0 }
        if let found = known ?? (file == nil ? nil : current) {
            return Facts(source: found.source, date: found.list.date, problem: found.problem)
        }
        let builtIn = PublicSuffixes.builtInDate
        guard let date = Self.changed(Self.debian), date > builtIn else {
            return Facts(source: Self.builtInSource, date: builtIn)
        }
        return Facts(source: Self.debian, date: date)
    }

    private func choose() -> Choice {
        var best = Choice(list: .builtIn, source: Self.builtInSource)
        if let date = Self.changed(Self.debian), date > PublicSuffixes.builtInDate, let list = Self.read(Self.debian) {
            best = Choice(list: list, source: Self.debian)
        }
        guard let file else { return best }
        // a text of another kind would count as the newest list, and leave most suffixes out
        guard let list = Self.read(file, isMarked: true) else {
            best.problem = "\(file) is no Public Suffix List that can be read, with the line \(Self.mark)"
            return best
        }
        guard list.date ?? "" >= best.list.date ?? "" else {
            best.problem = "\(file) is older than the list of \(best.list.date ?? "?")"
            return best
        }
        return Choice(list: list, source: file)
    }

    /// The first rules of a complete list follow this line.
    private static let mark = "// ===BEGIN ICANN DOMAINS==="

    /// Blocks; nil if the file is not a list.
    ///
    /// - Parameter isMarked: the list has to be complete, with the line before its first rules.
    static func read(_ path: String, isMarked: Bool = false) -> PublicSuffixes? {
        // a pipe of that name would wait for a writer
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard let file = fdopen(descriptor, "r") else {
            close(descriptor)
            return nil
        }
        defer { fclose(file) }
        var info = stat()
        guard fstat(fileno(file), &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size <= off_t(mostBytes) else {
            return nil
        }
        let size = Int(info.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = fread(buffer.baseAddress, 1, size, file)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return isMarked && !text.contains(mark) ? nil : PublicSuffixes.read(text, date: day(of: info))
    }

    private static func changed(_ path: String) -> String? {
        var info = stat()
        return stat(path, &info) == 0 ? day(of: info) : nil
    }

    private static func day(of info: stat) -> String? {
        var seconds = info.st_mtim.tv_sec
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return nil }
        let (year, month, day) = (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
        return "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
    }
}
