// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A stand-in for the library: the handshake needs a hash of 20 bytes, and the run computes the same one.
public enum Insecure {
    public enum SHA1 {
        public static func hash(data: [UInt8]) -> [UInt8] {
            var sum: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in data { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return (0..<20).map { UInt8(truncatingIfNeeded: sum >> ($0 % 8 * 8)) }
        }
    }
}
