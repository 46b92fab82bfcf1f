// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CNghttp2

@testable import OutriderHTTP

/// A block of fields beside nghttp2; then the fields are encoded, and both decode them again.
func hpack(_ input: Input) {
    var decoder = HPACKDecoder()
    guard let other = Nghttp2() else { return }
    // a block after the other on one connection, as the first byte of each says
    for part in input.bytes.split(separator: 0xFF, maxSplits: 3) {
        var fields = HTTP2FieldBlock(keeps: true)
        let fault = Array(part).withUnsafeBytes { decoder.decode($0, into: &fields) }
        let theirs = other.decode(Array(part))
        if fault == .tooMuch || fields.isTooLarge { return }
        expect((fault == nil) == (theirs != nil), "only one of two decodes: \(String(describing: fault))")
        guard fault == nil, let theirs else { return }
        // what is no field of a response is refused later, and not kept
        if fields.fault == nil {
            let regular = theirs.filter { !$0.name.starts(with: ":".utf8) }
            expect(regular.count == fields.fields.count, "\(regular.count) fields, and not \(fields.fields.count)")
            for (one, field) in zip(regular, fields.fields) {
                expect(String(decoding: one.name, as: UTF8.self) == field.name, "the name \(field.name)")
                expect(FieldRules.text(one.value, of: field.name).text == field.value, "the value of \(field.name)")
            }
        }
        again(theirs)
    }
}

/// Encodes fields, which must be the same after decoding.
private func again(_ fields: [RawField]) {
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    guard let other = Nghttp2() else { return }
    for _ in 0..<2 {
        var output = WireBytes()
        encoder.begin(&output)
        // the encoder writes names in lower case
        let texts = fields.map { field in
            let name = field.name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            return (String(decoding: name, as: UTF8.self), String(decoding: field.value, as: UTF8.self))
        }
        for (name, value) in texts { encoder.field(name, value, &output) }
        let block = Array(output.bytes)
        let theirs = other.decode(block)
        expect(theirs?.count == texts.count, "nghttp2 does not decode what is encoded")
        for (one, text) in zip(theirs ?? [], texts) {
            expect(one.name == Array(text.0.utf8) && one.value == Array(text.1.utf8), "nghttp2 decodes otherwise")
        }
        var own = HTTP2FieldBlock(keeps: false)
        expect(block.withUnsafeBytes { decoder.decode($0, into: &own) } == nil, "what is encoded is malformed")
    }
}

/// A field as bytes.
struct RawField: Equatable {
    var name: [UInt8]
    var value: [UInt8]
}

/// The decoder of nghttp2, for one connection.
struct Nghttp2: ~Copyable {
    private let inflater: OpaquePointer

    init?() {
        var inflater: OpaquePointer?
        guard nghttp2_hd_inflate_new(&inflater) == 0, let inflater else { return nil }
        self.inflater = inflater
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// Nil for a block that is malformed, after which nothing can be decoded.
    func decode(_ block: [UInt8]) -> [RawField]? {
        var fields: [RawField] = []
        var start = 0
        while true {
            var field = nghttp2_nv()
            var flags: CInt = 0
            let count = block.withUnsafeBufferPointer { bytes in
                nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, bytes.baseAddress.map { $0 + start }, bytes.count - start, 1)
            }
            guard count >= 0 else { return nil }
            start += count
            let isField = flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0
            if isField {
                fields.append(
                    RawField(
                        name: Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
                        value: Array(UnsafeBufferPointer(start: field.value, count: field.valuelen))))
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return fields
            }
            if !isField, start == block.count { return nil }
        }
    }
}
