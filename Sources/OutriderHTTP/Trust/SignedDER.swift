// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A document that an authority has signed, in DER (RFC 5280 section 5.1, RFC 6960 section 4.2.1).
package struct SignedDER: Sendable {
    package let bytes: ArraySlice<UInt8>
    /// The contents of the object identifier.
    package let algorithm: ArraySlice<UInt8>
    package let signature: ArraySlice<UInt8>
    /// The signed part, and the elements behind the signature.
    let fields: DERScanner
    let rest: DERScanner

    init?(_ whole: DERScanner) {
        var outer = whole
        guard var parts = outer.next(DERScanner.sequence)?.elements, let signed = parts.next(DERScanner.sequence),
            var algorithm = parts.next(DERScanner.sequence)?.elements,
            let oid = algorithm.next(DERScanner.objectIdentifier), let bits = parts.next(DERScanner.bitString),
            bits.contents.first == 0
        else { return nil }
        (bytes, fields, rest) = (signed.whole, signed.elements, parts)
        self.algorithm = oid.contents
        signature = bits.contents.dropFirst()
    }
}
