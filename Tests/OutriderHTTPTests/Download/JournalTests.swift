// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What is written down of an unfinished download.
struct JournalTests {
    private func journal() -> DownloadJournal {
        var journal = DownloadJournal(url: "http://a/ü?x=\"1\"", partial: "/d/.f.outrider-part", boot: "b-1")
        journal.target = "/d/f"
        journal.asked = "mark"
        journal.home = "http://first"
        journal.replaces = true
        journal.version = ResourceVersion(total: 100, etag: "\"a\"", lastModified: "then", coding: "gzip")
        journal.held.insert(0..<40)
        journal.held.insert(60..<70)
        journal.isSequential = false
        return journal
    }

    @Test func `what is written is read again`() {
        let one = journal()
        #expect(DownloadJournal(one.bytes) == one)
        #expect(DownloadJournal(resumeData: one.resumeData) == one)
        let plain = DownloadJournal(url: "http://a/", partial: "/p", boot: "")
        #expect(DownloadJournal(plain.bytes) == plain)
    }

    @Test func `no byte can be changed, added or lost without being noticed`() {
        let bytes = journal().bytes
        for index in bytes.indices {
            for flip in [1, 0x20, 0x80] as [UInt8] {
                var spoiled = bytes
                spoiled[index] ^= flip
                #expect(DownloadJournal(spoiled) == nil)
            }
            #expect(DownloadJournal(Array(bytes[..<index])) == nil)
        }
        #expect(DownloadJournal(bytes + [10]) == nil)
        #expect(DownloadJournal([]) == nil)
        #expect(DownloadJournal(resumeData: "äöü") == nil)
    }

    @Test func `what is whole and makes no sense is not believed`() {
        var wrong = journal()
        wrong.version.total = 50
        #expect(DownloadJournal(wrong.bytes) == nil)
        wrong = journal()
        wrong.partial = "relative"
        #expect(DownloadJournal(wrong.bytes) == nil)
        wrong = journal()
        for index in 0..<Int64(2 * HeldRanges.most) { wrong.held.insert(index * 4 + 100..<index * 4 + 102) }
        wrong.version.total = nil
        #expect(DownloadJournal(wrong.bytes) == nil)
    }

    @Test func `during one boot the size of the file counts, and after another what was synced`() {
        var one = journal()
        one.held = HeldRanges(first: 40)
        one.isSequential = true
        #expect(one.held(size: 80, boot: "b-1").ranges == [0..<80])
        #expect(one.held(size: 800, boot: "b-1").ranges == [0..<100])
        #expect(one.held(size: 80, boot: "b-2").ranges == [0..<40])
        #expect(one.held(size: 10, boot: "b-1").ranges == [0..<10])
        #expect(one.held(size: 10, boot: "b-2").ranges == [0..<10])
        one.isSequential = false
        #expect(one.held(size: 80, boot: "b-1").ranges == [0..<40])
        one.isSequential = true
        one.boot = ""
        #expect(one.held(size: 80, boot: "").ranges == [0..<40])
    }
}

/// Digests, and how fast bytes may come.
struct ChecksumTests {
    @Test func `digests are read in hexadecimal and in base64`() {
        let bytes = [UInt8](0..<16)
        #expect(Checksum(.md5, text: "000102030405060708090a0b0c0d0e0f")?.bytes == bytes)
        #expect(Checksum(.md5, text: "000102030405060708090A0B0C0D0E0F")?.bytes == bytes)
        #expect(Checksum(.md5, text: "AAECAwQFBgcICQoLDA0ODw==")?.bytes == bytes)
        #expect(Checksum(.md5, bytes).text == "000102030405060708090a0b0c0d0e0f")
        for text in ["", "00", "000102030405060708090a0b0c0d0e0g", "AAECAwQFBgcICQoLDA0OD", "é"] {
            #expect(Checksum(.md5, text: text) == nil)
        }
    }

    @Test func `what a server declares is read as RFC 9530 writes it`() {
        let digest = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let fields: HTTPFields = [
            .init("Repr-Digest", "unknown=:AA==:, sha-256=:\(digest):;x=1 , md5=:AAAAAAAAAAAAAAAAAAAAAA==:"),
            .init("Content-Digest", "sha-256=:\(digest)="),
        ]
        let found = Checksum.declared(fields, isWhole: true)
        #expect(found.map(\.algorithm) == [.sha256])
        #expect(found.first?.text.hasPrefix("e3b0c44298fc1c14") == true)
        let content: HTTPFields = [.init("Content-Digest", "sha-256=:\(digest):")]
        #expect(Checksum.declared(content, isWhole: true).count == 1)
        #expect(Checksum.declared(content, isWhole: false).isEmpty)
        // of a part, that is what there is to say of the content
        #expect(Checksum.ofContent(content).map(\.text) == found.map(\.text))
        #expect(Checksum.ofContent([.init("Repr-Digest", "sha-256=:\(digest):")]).isEmpty)
    }

    @Test func `a limited rate is kept to, without bursts after a silence`() {
        var pacer = RatePacer(bytesPerSecond: 1000, now: 0)
        #expect(abs(pacer.wait(after: 500, now: 0) - 0.5) < 1e-9)
        #expect(abs(pacer.wait(after: 500, now: 0.5) - 0.5) < 1e-9)
        // a long silence saves no more than a tenth of a second
        #expect(abs(pacer.wait(after: 1000, now: 100) - 0.9) < 1e-9)
    }
}
