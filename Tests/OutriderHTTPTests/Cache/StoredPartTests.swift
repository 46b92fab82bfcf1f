// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct StoredPartTests {
    private func part(_ text: String, encoding: String? = nil) -> StoredPart? {
        var fields: HTTPFields = []
        fields.add("Content-Range", text)
        if let encoding { fields.add("Content-Encoding", encoding) }
        return StoredPart(fields)
    }

    @Test func `a range of a known total is a part`() {
        #expect(part("bytes 2-4/10")?.range == 2..<5)
        #expect(part("Bytes 0-9/10")?.isWhole == true)
        #expect(part("bytes 2-4/10")?.field == "bytes 2-4/10")
    }

    @Test(arguments: [
        "bytes 2-4/*", "bytes */10", "bytes 4-2/10", "bytes 2-10/10", "items 2-4/10", "bytes 2-4", "bytes -4/10", "",
        "bytes 2-99999999999999999999/10", "bytes 0-9223372036854775806/9223372036854775807/1",
    ])
    func `other ranges are none`(text: String) { #expect(part(text) == nil) }

    @Test func `a part of an encoded body has no place`() { #expect(part("bytes 2-4/10", encoding: "gzip") == nil) }

    @Test func `the largest total does not trap`() {
        let most = "\(Int64.max - 1)/\(Int64.max)"
        #expect(part("bytes 0-\(most)")?.isWhole == true)
    }

    @Test func `wanted bytes lie in the part or not`() throws {
        let stored = try #require(part("bytes 2-7/10"))
        #expect(stored.place(of: .from(3, to: 4)) == 1..<3)
        #expect(stored.place(of: .from(2, to: 7)) == 0..<6)
        #expect(stored.place(of: .from(1, to: 4)) == nil && stored.place(of: .from(3, to: nil)) == nil)
        #expect(stored.place(of: .last(3)) == nil && stored.place(of: .from(10, to: nil)) == nil)
    }

    @Test func `parts that touch are joined`() throws {
        let middle = try #require(part("bytes 4-6/10"))
        let front = try #require(part("bytes 0-3/10"))
        #expect(middle.joined(with: front)?.range == 0..<7)
        let back = try #require(part("bytes 5-9/10"))
        #expect(middle.joined(with: back)?.range == 4..<10)
        let distant = try #require(part("bytes 0-2/10"))
        #expect(middle.joined(with: distant) == nil)
        let other = try #require(part("bytes 0-3/11"))
        #expect(middle.joined(with: other) == nil)
    }

    @Test func `the digest of a message is left out where other bytes are delivered`() throws {
        let digest = "sha-256=:AA==:"
        let fields: HTTPFields = [
            .init("Content-Digest", digest), .init("Repr-Digest", digest), .init("Content-Range", "bytes 2-4/10"),
        ]
        let head = CachedHead(status: 206, reason: "", version: "1.1", fields, requestedAt: 0, respondedAt: 0)
        let joined = head.joined(try #require(part("bytes 0-4/10")))
        for shown in [head.partial(0..<2, of: 3, at: 0), joined.fields] {
            #expect(!shown.contains("Content-Digest") && shown.contains("Repr-Digest"))
        }
        #expect(head.partial(0..<3, of: 3, at: 0).contains("Content-Digest"))
    }
}
