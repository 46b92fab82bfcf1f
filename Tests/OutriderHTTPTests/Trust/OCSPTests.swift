// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

@Suite struct OCSPTests {
    @Test(
        "bytes that are no response are refused",
        arguments: [[], [0x30], [0x30, 0x00], [0x30, 0x03, 0x0A, 0x01, 0x00]])
    func refused(_ bytes: [UInt8]) { #expect(OCSPResponse(bytes) == nil) }

    @Test(
        "a responder says why it gives no status",
        arguments: [
            (1, "malformedRequest"), (2, "internalError"), (3, "tryLater"), (5, "sigRequired"), (6, "unauthorized"),
        ])
    func faults(_ status: UInt8, _ name: String) {
        let bytes: [UInt8] = [0x30, 0x03, 0x0A, 0x01, status]
        #expect(OCSPResponse(bytes) == nil)
        #expect(OCSPResponse.fault(bytes) == name)
    }

    @Test("a response of random bytes, or cut anywhere, does not trap")
    func random() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...80, using: &generator)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if Bool.random() { bytes = [0x30, UInt8(clamping: count + 3), 0x0A, 0x01, 0x00] + bytes }
            _ = OCSPResponse(bytes)
        }
    }
}
