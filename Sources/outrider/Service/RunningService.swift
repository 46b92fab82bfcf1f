// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The service at a socket, as its `server.info` describes the service.
struct RunningService {
    let version: String
    let pid: Int32
    let uptime: Double
    /// The variables at the start of the service.
    let variables: JSONObject

    /// Calls the service; throws if another program replies.
    init(over client: inout ServiceClient) throws(CommandFailure) {
        let info = try client.object("server.info", [:], by: Deadline(after: 10))
        guard let version = info["version"]?.string, let pid = info["pid"]?.integer.flatMap({ Int32(exactly: $0) })
        else {
            throw CommandFailure(.brokeProtocol, "the result of server.info names no version and no process")
        }
        (self.version, self.pid) = (version, pid)
        uptime = info["uptime"]?.number ?? 0
        variables = info["environment"]?.object ?? JSONObject()
    }

    /// The words of its command line; empty if they cannot be read.
    private var words: [String] {
        let file = open("/proc/\(pid)/cmdline", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        while bytes.count < 1 << 20, let piece = try? FileBytes.read(file) { bytes += piece }
        return bytes.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value of a flag on its command line; nil if the flag is absent.
    func value(of flag: String) -> String? {
        let words = words
        for (index, word) in words.enumerated().reversed() {
            if word.hasPrefix("\(flag)=") { return String(word.dropFirst(flag.count + 1)) }
            if word == flag, index + 1 < words.count { return words[index + 1] }
        }
        return nil
    }

    /// Why the service is older than this program; nil if both are the same file.
    var age: String? {
        if version != ProgramVersion.current {
            return "the service is version \(version), this program \(ProgramVersion.current)"
        }
        var ours = stat()
        var theirs = stat()
        guard stat("/proc/self/exe", &ours) == 0, stat("/proc/\(pid)/exe", &theirs) == 0 else { return nil }
        if ours.st_dev == theirs.st_dev, ours.st_ino == theirs.st_ino { return nil }
        return theirs.st_nlink == 0
            ? "the program file of the service was replaced since its start" : "the service runs another program file"
    }

    /// The running time, such as `2 d 3 h`, `5 min`, `7 s`.
    var duration: String {
        let seconds = Int64(max(0, min(uptime, 1e12)))
        let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60)
        if days > 0 { return "\(days) d \(hours) h" }
        if hours > 0 { return "\(hours) h \(minutes) min" }
        return minutes > 0 ? "\(minutes) min" : "\(seconds) s"
    }
}
