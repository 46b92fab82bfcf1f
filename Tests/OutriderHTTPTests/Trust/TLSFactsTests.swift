// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

struct TLSFactsTests {
    @Test func `the facts of a connection are written once`() {
        let facts = TLSFacts(
            version: "TLSv1.3", cipher: nil, group: nil, alpn: nil, verified: .default, revocation: nil,
            clientCertificate: nil, chain: [])
        var count = 0
        for _ in 0..<3 {
            let text = facts.text {
                count += 1
                return JSONText(written: Array("{}".utf8))
            }
            #expect(text.bytes == Array("{}".utf8))
        }
        #expect(count == 1)
    }
}
