// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZlib
import CZstd
import NIOCore

@testable import OutriderHTTP
@testable import OutriderTransport

/// What a body becomes.
private struct Decoded {
    var bytes: [UInt8] = []
    var isDamaged = false
    /// Too large for its size, or for this.
    var isLimited = false
    var isWhole = false
}

private func decoded(_ pieces: [[UInt8]], _ coding: String) -> Decoded {
    var result = Decoded()
    guard var decoder = ContentDecoder(codings: [coding], host: "a.test") else { return result }
    do throws(HTTPFailure) {
        for piece in pieces {
            decoder.feed(ByteBuffer(bytes: piece))
            while let more = try decoder.next() {
                expect(more.readableBytes <= 64 << 10 && more.readableBytes > 0, "\(more.readableBytes) bytes at once")
                result.bytes += Array(more.readableBytesView)
                if result.bytes.count > 4 << 20 { throw HTTPFailure(.limitExceeded, "", phase: .response) }
            }
        }
        result.isWhole = (try? decoder.finish()) != nil
    } catch {
        result.isLimited = error.kind == .limitExceeded
        result.isDamaged = !result.isLimited
    }
    return result
}

private func check(_ input: Input, _ coding: String) -> [UInt8]? {
    let (whole, pieces) = (decoded([input.bytes], coding), decoded(input.pieces, coding))
    // how much of a damaged or cut body comes depends on the pieces
    let (short, long) = whole.bytes.count < pieces.bytes.count ? (whole, pieces) : (pieces, whole)
    expect(long.bytes.starts(with: short.bytes), "\(coding): other bytes")
    // and so does a limit on the growth, which looks at what has come
    if whole.isLimited || pieces.isLimited { return nil }
    if whole.isDamaged != pieces.isDamaged {
        // the library compares the declared size of an empty last block only if the frame comes in one piece
        expect(coding == "zstd" && whole.isDamaged, "\(coding): damaged in one way only")
        return nil
    }
    expect(whole.isWhole == pieces.isWhole, "\(coding): only one way finds an end")
    expect(!whole.isWhole || whole.bytes == pieces.bytes, "\(coding): fewer bytes")
    return whole.isWhole ? whole.bytes : nil
}

/// Compresses the input, which must come back.
private func again(_ input: Input, _ coding: BodyCoding, _ name: String) {
    let stream = coding.makeStream()
    var packed: [UInt8] = []
    for piece in input.pieces {
        guard let more = try? stream.compress(ByteBuffer(bytes: piece)) else { return }
        packed += Array(more.readableBytesView)
    }
    guard let more = try? stream.finish() else { return }
    packed += Array(more.readableBytesView)
    let back = decoded([packed], name)
    expect(back.isWhole && back.bytes == input.bytes, "\(name): what was compressed does not come back")
}

/// The bytes of one member by one call of zlib; nil if it is damaged, or if something follows.
private func inflated(_ bytes: [UInt8], _ bits: CInt) -> [UInt8]? {
    var stream = z_stream()
    guard inflateInit2_(&stream, bits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    var bytes = bytes
    let size = bytes.count
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: 1 << 20) { output, count in
        bytes.withUnsafeMutableBufferPointer { bytes in
            stream.next_in = bytes.baseAddress
            stream.avail_in = UInt32(size)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            isWhole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0
            count = output.count - Int(stream.avail_out)
        }
    }
    return isWhole ? output : nil
}

/// The bytes of a single frame with a small window by one call of the library; nil for anything else.
private func unpacked(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count > 6, bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD]), bytes[4] & 0x20 != 0 || bytes[5] >> 3 < 13,
        ZSTD_findFrameCompressedSize(bytes, bytes.count) == bytes.count
    else { return nil }
    var output = [UInt8](repeating: 0, count: 64 << 10)
    let count = ZSTD_decompress(&output, output.count, bytes, bytes.count)
    return ZSTD_isError(count) == 0 ? Array(output[..<count]) : nil
}

func gzip(_ input: Input) {
    let found = check(input, "gzip")
    if let expected = inflated(input.bytes, 15 + 16), let found { expect(found == expected, "zlib has other bytes") }
    again(input, .gzip, "gzip")
}

func deflate(_ input: Input) {
    let found = check(input, "deflate")
    if let expected = inflated(input.bytes, 15), let found { expect(found == expected, "zlib has other bytes") }
    again(input, .deflate, "deflate")
}

func brotli(_ input: Input) {
    _ = check(input, "br")
    if input.chance(16, 3) { again(input, .br, "br") }
}

func zstd(_ input: Input) {
    let found = check(input, "zstd")
    // one call takes blocks that are larger than the window, which RFC 8878 refuses
    if let expected = unpacked(input.bytes), let found { expect(found == expected, "the library has other bytes") }
    if input.chance(16, 3) { again(input, .zstd, "zstd") }
}
