// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension SIMD16<Int8> {
    /// The number of bytes before the first that is a quote, a backslash or no printable ASCII; 16 if there is none.
    ///
    /// Types are written out, because the compiler else takes generic operators, which work byte by byte.
    @inline(__always)
    var printableBytes: Int {
        let quote = self .== SIMD16<Int8>(repeating: 0x22)
        let slash = self .== SIMD16<Int8>(repeating: 0x5C)
        // 0x7F becomes the lowest number, and those beyond ASCII are negative, or become zero
        let other = self &+ SIMD16<Int8>(repeating: 1) .<= SIMD16<Int8>(repeating: 0x20)
        let found = unsafeBitCast(other .| quote .| slash, to: SIMD2<UInt64>.self)
        if found[0] != 0 { return UInt64(littleEndian: found[0]).trailingZeroBitCount &>> 3 }
        return 8 &+ UInt64(littleEndian: found[1]).trailingZeroBitCount &>> 3
    }
}
