// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct HTTP2FrameScannerTests {
    /// What a scan has found, with the pieces of a DATA frame put together.
    private struct Found: Equatable {
        var heads: [HTTP2FrameHead] = []
        var payloads: [[UInt8]] = []
        var faults = 0
    }

    private func scan(_ pieces: [ArraySlice<UInt8>]) -> Found {
        var scanner = HTTP2FrameScanner()
        var found = Found()
        for piece in pieces {
            let bytes = Array(piece)
            var position = 0
            reading: while true {
                let step = bytes.withUnsafeBytes { scanner.next($0, from: &position) }
                switch step {
                case .needsMore:
                    #expect(position == bytes.count)
                    break reading
                case .frame(let head, let range):
                    found.heads.append(head)
                    found.payloads.append(Array(bytes[range]))
                case .heldFrame(let head):
                    found.heads.append(head)
                    found.payloads.append(scanner.held)
                case .data(let head, let range, let isFirst, _):
                    if isFirst {
                        found.heads.append(head)
                        found.payloads.append([])
                    }
                    found.payloads[found.payloads.count - 1] += bytes[range]
                case .tooLarge, .badPadding:
                    found.faults += 1
                    return found
                }
            }
        }
        return found
    }

    private static func sample(_ random: inout SeededRandom, frames: Int) -> [UInt8] {
        var writer = HTTP2FrameWriter()
        for _ in 0..<frames {
            let kind = HTTP2FrameKind(rawValue: UInt8.random(in: 0...10, using: &random))
            let length =
                Bool.random(using: &random)
                ? Int.random(in: 0...20, using: &random) : Int.random(in: 0...3000, using: &random)
            let flags: UInt8 = kind == .data && length > 0 ? [0, 1, 8, 9].randomElement(using: &random) ?? 0 : 4
            writer.head(kind, length: length, flags: flags, stream: UInt32.random(in: 0...9, using: &random))
            var payload = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            if flags & 8 != 0, length > 0 {
                payload[0] = UInt8(clamping: Int.random(in: 0..<min(256, length), using: &random))
            }
            payload.withUnsafeBytes { writer.output.append($0) }
        }
        return writer.take { Array($0) }
    }

    @Test func `every cut in two gives the same frames`() {
        var random = SeededRandom(seed: 1)
        let bytes = Self.sample(&random, frames: 12)
        let whole = scan([bytes[...]])
        #expect(whole.heads.count == 12)
        for cut in 0...bytes.count { #expect(scan([bytes[..<cut], bytes[cut...]]) == whole) }
    }

    @Test func `random cuts give the same frames`() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<300 {
            let bytes = Self.sample(&random, frames: 20)
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let length = min(
                    rest.count, Int.random(in: 0...[2, 20, 2000].randomElement(using: &random)!, using: &random))
                pieces.append(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            #expect(scan(pieces) == scan([bytes[...]]))
        }
    }

    @Test func `a piece of DATA is there before its frame is whole`() {
        var scanner = HTTP2FrameScanner()
        let bytes: [UInt8] = [0, 0, 10, 0, 9, 0, 0, 0, 1, 3, 65, 66]
        var position = 0
        let head = HTTP2FrameHead(length: 10, kind: .data, flags: 9, stream: 1)
        #expect(
            bytes.withUnsafeBytes { scanner.next($0, from: &position) }
                == .data(head, 10..<12, isFirst: true, isLast: false))
        let more: [UInt8] = [67, 68, 69, 70, 0, 0, 0]
        position = 0
        #expect(
            more.withUnsafeBytes { scanner.next($0, from: &position) }
                == .data(head, 0..<4, isFirst: false, isLast: true))
        #expect(position == 7)
    }

    @Test(arguments: [[0, 0, 0, 0, 8, 0, 0, 0, 1], [0, 0, 2, 0, 8, 0, 0, 0, 1, 2, 0], [0, 64, 1, 4, 0, 0, 0, 0, 0]])
    func `too much padding and too large frames are faults`(bytes: [UInt8]) {
        #expect(scan([bytes[...]]).faults == 1)
        #expect(scan(bytes.map { [$0] }).faults == 1)
    }
}
