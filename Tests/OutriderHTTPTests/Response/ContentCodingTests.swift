// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct ContentCodingTests {
    private static let fields: [([String], [ContentCoding]?)] = [
        ([], []), ([""], []), (["identity"], []), (["gzip"], [.gzip]), (["GZIP"], [.gzip]), (["x-gzip"], [.gzip]),
        (["deflate"], [.deflate]), (["identity, gzip"], [.gzip]), (["gzip", "gzip"], [.gzip, .gzip]),
        ([" deflate ,\tgzip"], [.deflate, .gzip]), (["br"], [.br]),
        (["gzip, zstd"], [.gzip, .zstd]), (["compress"], nil), (["banana"], nil),
        (["gzip, gzip, gzip"], nil), (["gzip;q=1"], nil),
    ]

    @Test(arguments: fields)
    func `what is known is undone in layers, anything else left`(values: [String], layers: [ContentCoding]?) {
        #expect(ContentCoding.layers(values) == layers)
    }

    @Test(
        arguments: [
            (1, 10 << 20, false), (1, (10 << 20) + 1, true), (0, 1 << 40, true), (1 << 20, 200 << 20, false),
            (1 << 20, (200 << 20) + 1, true), (.max, .max, false), (-1, .max, true), (0, 0, false),
        ] as [(Int64, Int64, Bool)])
    func `a body may swell 200 times once it is big`(received: Int64, decoded: Int64, isExceeded: Bool) {
        #expect(InflationLimits().isExceeded(received: received, decoded: decoded) == isExceeded)
    }
}
