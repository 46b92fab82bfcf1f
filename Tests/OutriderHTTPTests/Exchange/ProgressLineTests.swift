// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct ProgressLineTests {
    private let half = ProgressLine(
        completed: 5_000_000, total: 10_000_000, fraction: 0.5, rate: 1_250_000, remaining: 4)

    @Test func `everything that is known stands in the line`() {
        #expect(
            half.text(width: 100)
                == " 50% [====================>                   ]  5.0 MB of 10.0 MB  1.3 MB/s  0:04")
    }

    @Test func `without a total there is neither bar nor percentage`() {
        #expect(ProgressLine(completed: 1500, rate: 700).text(width: 80) == "1.5 kB  700 B/s")
        #expect(ProgressLine(completed: 0).text(width: 80) == "0 B")
    }

    @Test func `a narrow terminal gets less of it, and never more than fits`() {
        #expect(half.text(width: 51) == " 50% [====>   ]  5.0 MB of 10.0 MB  1.3 MB/s  0:04")
        #expect(half.text(width: 40) == " 50%  5.0 MB of 10.0 MB  1.3 MB/s  0:04")
        #expect(half.text(width: 38) == " 50%  5.0 MB of 10.0 MB  1.3 MB/s")
        #expect(half.text(width: 30) == " 50%  5.0 MB of 10.0 MB")
        #expect(half.text(width: 10) == " 50%")
        #expect(half.text(width: 3).isEmpty)
        for width in 0...120 {
            for fraction in [nil, -1, 0, 0.004, 0.999, 1, 7] as [Double?] {
                let line = ProgressLine(
                    completed: 12_345_678, total: 999_999_999, fraction: fraction, rate: 1e9, remaining: 3600)
                #expect(line.text(width: width).utf8.count <= width)
            }
        }
    }

    @Test func `the end is a full bar`() {
        let end = ProgressLine(completed: 10, total: 10, fraction: 1, rate: 5, remaining: 0)
        #expect(end.text(width: 80).hasPrefix("100% [========================================]  10 B  5 B/s  0:00"))
    }
}
