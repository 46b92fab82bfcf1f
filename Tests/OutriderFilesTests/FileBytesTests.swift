// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import Testing

struct FileBytesTests {
    /// A file without a name.
    private func file() throws -> CInt {
        var template = Array("/tmp/outrider-bytes-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        try #require(file >= 0)
        unlink(template)
        return file
    }

    @Test func `bytes are written at their places, and read up to the end of the file`() throws {
        let file = try file()
        defer { close(file) }
        #expect(FileBytes.write(Array("abcdef".utf8), to: file) && FileBytes.write(Array("XY".utf8), to: file, at: 2))
        #expect(FileBytes.write([], to: file, at: 100))
        #expect(FileBytes.read(file, at: 0, most: 100) == Array("abXYef".utf8))
        #expect(FileBytes.read(file, at: 1, most: 3) == Array("bXY".utf8))
        #expect(FileBytes.read(file, at: 6, most: 3) == [] && FileBytes.read(file, at: 0, most: 0) == [])
        // where the file stands
        #expect(FileBytes.read(file, most: 3) == [] && lseek(file, 4, SEEK_SET) == 4)
        #expect(FileBytes.read(file, most: 3) == Array("ef".utf8))
    }

    @Test func `a pipe gives its pieces as one`() throws {
        var ends: [CInt] = [0, 0]
        try #require(pipe(&ends) == 0)
        for piece in ["ab", "cd"] { #expect(FileBytes.write(Array(piece.utf8), to: ends[1])) }
        close(ends[1])
        #expect(FileBytes.read(ends[0], most: 10) == Array("abcd".utf8))
        close(ends[0])
    }

    @Test func `a failure leaves its reason`() throws {
        let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        errno = 0
        let isWritten = FileBytes.write([1], to: file)
        let code = errno
        #expect(!isWritten && code == EBADF)
        let directory = open("/tmp", O_RDONLY | O_CLOEXEC)
        defer { close(directory) }
        let bytes = FileBytes.read(directory, at: 0, most: 1)
        let reason = errno
        #expect(bytes == nil && reason == EISDIR)
    }
}
