// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Testing

@testable import OutriderEngine

struct SpilledBytesTests {
    /// The open files below a directory, by the numbers of their descriptors.
    private static func open(below directory: String) -> [String] {
        DirectoryNames.all(in: "/proc/self/fd").filter { number in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(number)", &target, target.count)
            let path = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return path.hasPrefix(directory) && path.hasSuffix("(deleted)")
        }
    }

    /// Bytes on the medium.
    private static func used(_ number: String) -> Int {
        var info = stat()
        return stat("/proc/self/fd/\(number)", &info) == 0 ? info.st_blocks * 512 : 0
    }

    private static func until(_ isRight: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while !isRight() {
            try #require(ContinuousClock.now < end)
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 70_000 + number)
    }

    @Test func `payloads share a file, have their own bytes, and give their room back`() async throws {
        try await withDirectory { directory in
            let workspace = Workspace(in: directory)
            defer { workspace.remove() }
            let quota = BodyQuota()
            var parts: [SpilledBytes] = []
            for number in 0..<100 {
                let part = await withCheckedContinuation { continuation in
                    quota.spill(Self.bytes(number), in: workspace) { continuation.resume(returning: $0) }
                }
                parts.append(try #require(part))
            }
            let files = Self.open(below: directory)
            try #require(files.count == 1)
            let full = Self.used(files[0])
            #expect(full >= 100 * 70_000)
            for (number, part) in parts.enumerated() {
                #expect(try part.read(at: 0, count: .max) == Self.bytes(number))
                #expect(try part.read(at: 69_990, count: 1000).count == 10 + number)
            }
            parts.removeSubrange(1..<99)
            try await Self.until { quota.held.files == 70_000 + 70_099 }
            #expect(Self.used(files[0]) < full / 10)
            #expect(try parts[0].read(at: 0, count: .max) == Self.bytes(0))
            #expect(try parts[1].read(at: 0, count: .max) == Self.bytes(99))
            var buffer = [UInt8](repeating: 7, count: 11)
            #expect(throws: HTTPFailure.self) {
                try buffer.withUnsafeMutableBytes { try parts[0].read(at: 69_990, into: $0) }
            }
            parts = []
            try await Self.until { quota.held.files == 0 && Self.open(below: directory).isEmpty }
        }
    }

    @Test func `a long row of payloads goes on in another file`() async throws {
        try await withDirectory { directory in
            let workspace = Workspace(in: directory)
            defer { workspace.remove() }
            let room = SpillRoom()
            let first = try room.place(200 << 20, in: workspace)
            let second = try room.place(100 << 20, in: workspace)
            let third = try room.place(1, in: workspace)
            let fourth = try room.place(1, in: workspace)
            #expect(first.file === second.file && first.offset == 0 && second.offset == 200 << 20)
            #expect(third.file !== second.file && third.offset == 0)
            #expect(fourth.file === third.file && fourth.offset == 4096)
        }
    }
    @Test func `a directory that was removed is made again`() async throws {
        try await withDirectory { directory in
            let workspace = Workspace(in: directory)
            defer { workspace.remove() }
            let first = Self.directory(of: try workspace.newPath())
            #expect(Self.directory(of: try workspace.newPath()) == first)
            try #require(rmdir(first) == 0)
            let second = Self.directory(of: try workspace.newPath())
            #expect(access(second, W_OK) == 0)
            let parent = Self.directory(of: second)
            let left = ["", ".lock"].map { String(second.dropFirst(parent.utf8.count + 1)) + $0 }
            #expect(DirectoryNames.all(in: parent).sorted() == left)
        }
    }

    private static func directory(of path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }
}
