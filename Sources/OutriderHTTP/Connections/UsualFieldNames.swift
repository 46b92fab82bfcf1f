// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The field names of most responses, as most servers write them: to find a constant costs a fifth of a new string.
enum UsualFieldNames {
    /// The constant with these bytes; nil for other names.
    static func find(_ name: UnsafeRawBufferPointer) -> String? {
        guard let first = name.first, let candidate = candidate(name.count, first) else { return nil }
        let isSame = candidate.utf8.withContiguousStorageIfAvailable { bytes in
            for index in 1..<name.count where bytes[index] != name[index] { return false }
            return true
        }
        return isSame == true ? candidate : nil
    }

    /// The only usual name of this length that begins with this byte.
    private static func candidate(_ length: Int, _ first: UInt8) -> String? {
        switch (length, first) {
        case (4, UInt8(ascii: "D")): "Date"
        case (4, UInt8(ascii: "E")): "ETag"
        case (4, UInt8(ascii: "V")): "Vary"
        case (4, UInt8(ascii: "d")): "date"
        case (6, UInt8(ascii: "S")): "Server"
        case (6, UInt8(ascii: "s")): "server"
        case (10, UInt8(ascii: "C")): "Connection"
        case (10, UInt8(ascii: "S")): "Set-Cookie"
        case (12, UInt8(ascii: "C")): "Content-Type"
        case (12, UInt8(ascii: "c")): "content-type"
        case (13, UInt8(ascii: "C")): "Cache-Control"
        case (13, UInt8(ascii: "A")): "Accept-Ranges"
        case (13, UInt8(ascii: "L")): "Last-Modified"
        case (14, UInt8(ascii: "C")): "Content-Length"
        case (14, UInt8(ascii: "c")): "content-length"
        case (16, UInt8(ascii: "C")): "Content-Encoding"
        case (16, UInt8(ascii: "c")): "content-encoding"
        default: nil
        }
    }
}
