// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The memory limits of control groups, as of a container: the files that hold them, and the content of such a file
/// (cgroups(7); "memory.max" of version 2, "memory.limit_in_bytes" of version 1).
enum GroupMemory {
    private static let root = "/sys/fs/cgroup"
    /// Groups deeper than this are not looked at.
    private static let mostDepth = 64

    /// The files with the limits of a process, of its own groups and of all groups above.
    ///
    /// - Parameter groups: the content of /proc/self/cgroup.
    static func files(of groups: String) -> [String] {
        groups.split(separator: "\n").flatMap { line -> [String] in
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return [] }
            if parts[0] == "0", parts[1].isEmpty { return path(parts[2]).map { "\(root)\($0)/memory.max" } }
            guard parts[1].split(separator: ",").contains("memory") else { return [] }
            return path(parts[2]).map { "\(root)/memory\($0)/memory.limit_in_bytes" }
        }
    }

    /// The group and all above: for "/a/b" these are "/a/b", "/a" and "". A group outside of the mounted ones counts as the
    /// root.
    private static func path(_ group: Substring) -> [String] {
        let names = group.split(separator: "/")
        if names.contains("..") || names.count > mostDepth { return [""] }
        return (0...names.count).reversed().map { count in names.prefix(count).map { "/\($0)" }.joined() }
    }

    /// Bytes; nil for no limit, and for other text.
    static func limit(_ text: String) -> Int? {
        guard let word = text.split(whereSeparator: \.isWhitespace).first, let bytes = Int(word), bytes > 0 else {
            return nil
        }
        return bytes
    }
}
