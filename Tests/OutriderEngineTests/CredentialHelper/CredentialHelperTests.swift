// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@testable import OutriderEngine

/// What seals records, and what writes down responses.
@Suite struct CredentialHelperTests {
    private static func seal(_ digit: String = "a", place: String = "place") throws -> Seal {
        let key = try KeyRing.key(from: .raw(Secret(String(repeating: digit, count: 64))), for: "")
        return Seal(key: key, place: place)
    }

    private static let identity = [UInt8](repeating: 7, count: 32)

    @Test func `no byte of what is sealed can be changed or missing`() throws {
        let seal = try Self.seal()
        let bytes = Array("what must stay hidden".utf8)
        let sealed = try #require(seal.close(bytes, .record, generation: 3, identity: Self.identity))
        let opened = try #require(seal.open(sealed, .record))
        #expect(opened.bytes == bytes && opened.generation == 3 && opened.identity == Self.identity)
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(seal.open(changed, .record) == nil, "byte \(index)")
            }
            #expect(seal.open(sealed[..<index], .record) == nil)
        }
        #expect(seal.open(sealed + [0], .record) == nil)
    }

    @Test func `another file, another credential and another key do not open it`() throws {
        let seal = try Self.seal()
        let sealed = try #require(seal.close([1], .record, generation: 1, identity: Self.identity))
        #expect(seal.open(sealed, .intent) == nil)
        #expect(try Self.seal(place: "other").open(sealed, .record) == nil)
        #expect(try Self.seal("b").open(sealed, .record) == nil)
        // and the same is never sealed to the same bytes
        #expect(seal.close([1], .record, generation: 1, identity: Self.identity) != sealed)
    }

    @Test func `a response that was cut anywhere is read as far as it is whole`() throws {
        let seal = try Self.seal()
        let pieces: [ResponseJournal.Piece] = [
            .head(attempt: 5, status: 200, retryAfter: nil, sentAt: ClockPair(wall: 1, boot: 2)), .body([1, 2]),
            .body([3]), .end,
        ]
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for (number, piece) in pieces.enumerated() {
            bytes += try #require(ResponseJournal.sealed(piece, number: number, seal))
            ends.append(bytes.count)
        }
        for count in 0...bytes.count {
            let response = ResponseJournal.read(Array(bytes[..<count]), seal)
            #expect((response != nil) == (count >= ends[0]))
            #expect(response?.body ?? [] == (count >= ends[2] ? [1, 2, 3] : count >= ends[1] ? [1, 2] : []))
            #expect((response?.isComplete ?? false) == (count == ends[3]))
        }
        // pieces in another order are none
        #expect(ResponseJournal.read(Array(bytes[..<ends[0]] + bytes[ends[1]...]), seal)?.body == [])
    }

    @Test func `a response that comes byte by byte is not too long to be read again`() throws {
        let seal = try Self.seal()
        var gathering = ResponseJournal.Gathering()
        var bytes: [UInt8] = []
        var number = 0
        func take(_ piece: ResponseJournal.Piece) throws {
            for whole in gathering.take(piece) {
                bytes += try #require(ResponseJournal.sealed(whole, number: number, seal))
                number += 1
            }
        }
        let body = (0..<TokenResponseScanner.mostBytes).map { UInt8(truncatingIfNeeded: $0) }
        try take(.head(attempt: 5, status: 200, retryAfter: nil, sentAt: ClockPair(wall: 1, boot: 2)))
        for (index, byte) in body.enumerated() {
            try take(.body([byte]))
            // what came first is written down at once, and later little is missing
            guard [0, 10, 1023, 1500, 10_000].contains(index) else { continue }
            let missing = index + 1 - (ResponseJournal.read(bytes, seal)?.body.count ?? 0)
            #expect(index < 1024 ? missing == 0 : missing < 256)
        }
        try take(.end)
        #expect(bytes.count < 1 << 20)
        let response = try #require(ResponseJournal.read(bytes, seal))
        #expect(response.body == body && response.isComplete)
    }
}
