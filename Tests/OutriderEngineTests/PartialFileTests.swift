// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Testing

@testable import OutriderEngine

struct PartialFileTests {
    private static func place(in directory: String) throws -> DownloadPlace {
        try DownloadPlace(directory: directory, name: "file", replaces: false, creating: false)
    }

    private static func bytes(_ count: Int) -> [ByteBuffer] { [ByteBuffer(repeating: 1, count: count)] }

    /// As the service after this one finds a file that is left as it is.
    private static func found(in directory: String) throws -> HeldRanges {
        let file = try PartialFile(in: try place(in: directory), url: "http://a/")
        let journal = try #require(file.written())
        _ = file.adopt(journal)
        return file.held
    }

    @Test(arguments: [false, true])
    func `after a kill, a gap before a later range is a gap`(isResumed: Bool) async throws {
        try await withDirectory { directory in
            var file = try PartialFile(in: try Self.place(in: directory), url: "http://a/")
            try file.reset { $0.version = ResourceVersion(total: 100_000, etag: "\"a\"") }
            try file.write(Self.bytes(1000), at: 0)
            #expect(file.save())
            if isResumed {
                let journal = try #require(file.written())
                file.letGo()
                file = try PartialFile(in: try Self.place(in: directory), url: "http://a/")
                #expect(file.adopt(journal))
            }
            #expect(file.divide())
            try file.write(Self.bytes(1000), at: 50_000)
            file.letGo()
            #expect(try Self.found(in: directory).ranges == [0..<1000])
        }
    }

    @Test func `a file whose journal cannot be written is not divided`() async throws {
        try await withDirectory { directory in
            let file = try PartialFile(in: try Self.place(in: directory), url: "http://a/")
            try file.reset { $0.version = ResourceVersion(total: 100_000, etag: "\"a\"") }
            try file.write(Self.bytes(1000), at: 0)
            _ = file.close()
            #expect(!file.divide() && file.journal.isSequential)
            #expect(!file.divide())
        }
    }
}
