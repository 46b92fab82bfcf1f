// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct ContentCodingTests {
    @Test(arguments: [
        ([], ContentCoding.identity), ([""], .identity), (["identity"], .identity), (["gzip"], .gzip),
        (["GZIP"], .gzip),
        (["x-gzip"], .gzip), (["deflate"], .deflate), (["identity, gzip"], .gzip),
        (["gzip", "gzip"], .untouched("gzip, gzip")),
        (["br"], .untouched("br")), (["deflate, gzip"], .untouched("deflate, gzip")),
        (["banana"], .untouched("banana")),
    ])
    func `one layer that is known is undone, anything else left`(values: [String], coding: ContentCoding) {
        #expect(ContentCoding.of(HTTPFields(values.map { .init("content-encoding", $0) })) == coding)
    }

    @Test(
        arguments: [
            (0x78, 0x9C, true), (0x78, 0x01, true), (0x78, 0xDA, true), (0x78, 0x9D, false), (0x4B, 0x4C, false),
            (0x88, 0x1C, false), (0x08, 0x1D, true), (0xFF, 0xFF, false),
        ] as [(UInt8, UInt8, Bool)])
    func `the zlib format is told from bare deflate`(first: UInt8, second: UInt8, isZlib: Bool) {
        #expect(ContentCoding.isZlib(first, second) == isZlib)
    }

    @Test func `the check of the zlib format is that of the RFC, for all bytes`() {
        for first in UInt8(0)...255 {
            for second in UInt8(0)...255 {
                let value = Int(first) * 256 + Int(second)
                let expected = first & 15 == 8 && first >> 4 <= 7 && value % 31 == 0
                #expect(ContentCoding.isZlib(first, second) == expected)
            }
        }
    }

    @Test func `a body may swell 200 times once it is big`() {
        let limits = InflationLimits()
        #expect(limits.failure(received: 1, decoded: 10 << 20) == nil)
        #expect(limits.failure(received: 1, decoded: (10 << 20) + 1)?.kind == .limitExceeded)
        #expect(limits.failure(received: 1 << 20, decoded: 200 << 20) == nil)
        #expect(limits.failure(received: 1 << 20, decoded: (200 << 20) + 1)?.kind == .limitExceeded)
        #expect(limits.failure(received: .max, decoded: .max) == nil)
        #expect(limits.failure(received: 0, decoded: 1 << 40)?.kind == .limitExceeded)
    }

    @Test func `an absolute limit holds from the first byte`() {
        let limits = InflationLimits(bytes: 100)
        #expect(limits.failure(received: 100, decoded: 100) == nil)
        let failure = limits.failure(received: 100, decoded: 101)
        #expect(failure?.kind == .limitExceeded)
        #expect(failure?.message.contains("100 bytes") == true)
    }
}
