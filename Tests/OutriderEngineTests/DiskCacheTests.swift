// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct DiskCacheTests {
    @Test func `the checksum is CRC-32C, in steps of eight bytes and of one`() {
        var check = CyclicCheck()
        check.add(Array("123456789".utf8))
        #expect(check.result == 0xE306_9283)
        var parts = CyclicCheck()
        for part in ["1", "2345678", "9"] { parts.add(Array(part.utf8)) }
        #expect(parts.result == check.result)
    }
}
