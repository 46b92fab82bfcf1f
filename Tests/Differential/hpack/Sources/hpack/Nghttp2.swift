// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CNghttp2

/// A field as bytes.
struct RawField: Equatable {
    var name: [UInt8]
    var value: [UInt8]
}

/// HPACK of nghttp2, both directions of one connection.
struct Nghttp2: ~Copyable {
    private let deflater: OpaquePointer
    private let inflater: OpaquePointer

    init?() {
        var (deflater, inflater): (OpaquePointer?, OpaquePointer?)
        guard nghttp2_hd_deflate_new(&deflater, 4096) == 0, nghttp2_hd_inflate_new(&inflater) == 0,
            let deflater, let inflater
        else { return nil }
        self.deflater = deflater
        self.inflater = inflater
    }

    deinit {
        nghttp2_hd_deflate_del(deflater)
        nghttp2_hd_inflate_del(inflater)
    }

    /// SETTINGS_HEADER_TABLE_SIZE of the decoder.
    func resize(_ size: Int) { nghttp2_hd_deflate_change_table_size(deflater, size) }

    func encode(_ fields: [RawField]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var ends: [(name: Int, value: Int)] = []
        for field in fields {
            bytes += field.name
            let name = bytes.count
            bytes += field.value
            ends.append((name, bytes.count))
        }
        return bytes.withUnsafeMutableBufferPointer { memory in
            var start = 0
            // an empty array has no address
            guard let base = memory.baseAddress ?? UnsafeMutablePointer(bitPattern: 1) else { return nil }
            let list = ends.map { end in
                defer { start = end.value }
                return nghttp2_nv(
                    name: base + start, value: base + end.name, namelen: end.name - start,
                    valuelen: end.value - end.name, flags: 0)
            }
            var block = [UInt8](repeating: 0, count: nghttp2_hd_deflate_bound(deflater, list, list.count))
            let count = nghttp2_hd_deflate_hd(deflater, &block, block.count, list, list.count)
            return count < 0 ? nil : Array(block[..<count])
        }
    }

    /// Nil for a block that is malformed, after which nothing can be decoded.
    func decode(_ block: [UInt8]) -> [RawField]? {
        var fields: [RawField] = []
        let isSound = block.withUnsafeBufferPointer { bytes in
            var start = 0
            while true {
                var field = nghttp2_nv()
                var flags: CInt = 0
                let from = bytes.baseAddress.map { $0 + start }
                let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, from, bytes.count - start, 1)
                guard count >= 0 else { return false }
                start += count
                if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    fields.append(
                        RawField(
                            name: Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
                            value: Array(UnsafeBufferPointer(start: field.value, count: field.valuelen))))
                }
                if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                    nghttp2_hd_inflate_end_headers(inflater)
                    return true
                }
                if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0, start == bytes.count { return false }
            }
        }
        return isSound ? fields : nil
    }
}
