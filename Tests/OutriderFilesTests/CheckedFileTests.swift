// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import Testing

struct CheckedFileTests {
    private let directory: String

    init() throws {
        var template = Array("/tmp/outrider-files-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func fault(_ name: String, _ flags: CInt, _ rules: CheckedFile.Rules) -> FileFault? {
        do throws(FileFault) {
            close(try CheckedFile.open("\(directory)/\(name)", flags, rules))
            return nil
        } catch {
            return error
        }
    }

    private func make(_ name: String, _ text: String = "text") {
        let file = open("\(directory)/\(name)", O_WRONLY | O_CREAT, 0o600)
        _ = text.withCString { write(file, $0, text.utf8.count) }
        close(file)
    }

    private func size(_ name: String) -> Int {
        var info = stat()
        return lstat("\(directory)/\(name)", &info) == 0 ? Int(info.st_size) : -1
    }

    @Test(arguments: [O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_CREAT])
    func `a pipe is refused at once`(flags: CInt) {
        mkfifo("\(directory)/pipe", 0o600)
        let fault = fault("pipe", flags, .own)
        #expect(fault?.description.contains("pipe") == true)
    }

    @Test func `a device is refused`() {
        #expect(throws: FileFault.notRegular(S_IFCHR)) { try CheckedFile.open("/dev/zero", O_RDONLY, .regular) }
    }

    @Test func `the removal of a file is no remedy for its place`() {
        #expect(FileFault.system(EROFS).removal.isEmpty)
        #expect(FileFault.system(ENOSPC).removal.isEmpty)
        #expect(FileFault.linked.removal == "remove it, or ")
        #expect(FileFault.system(EACCES).removal == "remove it, or ")
    }

    @Test func `a symbolic link is refused where links are`() {
        make("file")
        symlink("\(directory)/file", "\(directory)/link")
        #expect(fault("link", O_RDONLY, .own) == .notRegular(S_IFLNK))
        #expect(fault("link", O_RDONLY, .regular) == nil)
    }

    @Test func `a file with a second name is refused, and not truncated`() {
        make("file")
        link("\(directory)/file", "\(directory)/second")
        #expect(fault("file", O_WRONLY | O_TRUNC, .own) == .linked)
        #expect(size("file") == 4)
    }

    @Test func `a file that may be used is truncated after the check`() {
        make("file")
        #expect(fault("file", O_WRONLY | O_TRUNC, .own) == nil)
        #expect(size("file") == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `the file of another user is refused`() {
        make("file")
        chown("\(directory)/file", 12345, 12345)
        #expect(fault("file", O_RDONLY, .own) == .foreign(12345))
        #expect(fault("file", O_RDONLY, .regular) == nil)
    }

    @Test func `a missing file and a directory are told apart`() {
        #expect(fault("none", O_RDONLY, .own) == .system(ENOENT))
        #expect(fault("", O_WRONLY, .own) == .notRegular(S_IFDIR))
        #expect(fault("", O_RDONLY, .own) == .notRegular(S_IFDIR))
    }
}
