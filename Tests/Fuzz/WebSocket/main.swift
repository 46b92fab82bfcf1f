// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Random and damaged heads of frames, handshakes and extensions, so many of each: fuzz COUNT SEED

import Glibc

@testable import OutriderHTTP

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let count = arguments.first ?? 1_000_000
let seed = UInt64(max(0, arguments.dropFirst().first ?? 1))

func fail(_ what: String) -> Never {
    print("seed \(seed): \(what)")
    exit(1)
}

// MARK: frames

/// Heads that are right, as a rule, each with a few bytes of its payload.
func fillHeads(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
    bytes.removeAll(keepingCapacity: true)
    let firsts: [UInt8] = [0x81, 0x82, 0x01, 0x00, 0x80, 0x88, 0x89, 0x8A, 0xC1]
    for _ in 0..<3 {
        var dice = random.next()
        let first = firsts[Int(dice % 9)]
        dice >>= 8
        let kind = first & 8 != 0 ? 0 : dice % 4
        dice >>= 8
        bytes.append(first)
        switch kind {
        case 0, 1:
            let length = Int(dice % 12)
            bytes.append(UInt8(length))
            bytes.append(contentsOf: repeatElement(UInt8(truncatingIfNeeded: dice), count: length))
        case 2: bytes += [126, UInt8(truncatingIfNeeded: dice), UInt8(truncatingIfNeeded: dice >> 8)]
        default:
            bytes.append(127)
            let length = random.next() >> (dice % 64)
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
    }
    // half of the inputs are damaged
    var dice = random.next()
    while dice & 1 == 1, !bytes.isEmpty {
        dice >>= 1
        let at = Int(dice % UInt64(bytes.count))
        dice >>= 8
        switch dice & 3 {
        case 0: bytes[at] ^= 1 << UInt8(dice >> 2 & 7)
        case 1: bytes[at] = UInt8(truncatingIfNeeded: dice >> 2)
        case 2: bytes.remove(at: at)
        default: bytes.insert(UInt8(truncatingIfNeeded: dice >> 2), at: at)
        }
        dice >>= 12
    }
}

/// A sum of all heads and of the fault, for pieces with these ends.
func scanned(_ bytes: UnsafeRawBufferPointer, _ first: Int, _ second: Int) -> UInt64 {
    var scanner = FrameScanner()
    var (sum, left, start) = (UInt64(14_695_981_039), 0, 0)
    for end in [first, second, bytes.count] {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        start = end
        var index = min(left, piece.count)
        left -= index
        do throws(WebSocketFault) {
            while left == 0, let head = try scanner.head(in: piece, at: &index) {
                guard head.length >= 0, head.reserved < 8 else { fail("a head of \(Array(bytes))") }
                let isSound = !head.opcode.isControl || (head.isFinal && head.length <= 125)
                if !isSound { fail("a control frame of \(Array(bytes))") }
                let bits = UInt64(head.opcode.rawValue) << 8 | UInt64(head.reserved) << 1 | (head.isFinal ? 1 : 0)
                sum = (sum ^ bits ^ UInt64(head.length) << 16) &* 0x100_0000_01B3
                let skipped = min(head.length, piece.count - index)
                index += skipped
                left = head.length - skipped
            }
        } catch {
            return sum &* 31 &+ UInt64(error.code)
        }
    }
    return sum &* 31 &+ (scanner.isWithinHead ? 7 : 0)
}

func frames() {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    for _ in 0..<count {
        fillHeads(&bytes, &random)
        let dice = random.next()
        let size = UInt64(bytes.count + 1)
        let (one, two) = (Int((dice & 0xFFFF) % size), Int((dice >> 16 & 0xFFFF) % size))
        bytes.withUnsafeBytes { bytes in
            if scanned(bytes, 0, 0) != scanned(bytes, min(one, two), max(one, two)) {
                fail("cut at \(one) and \(two), other frames: \(Array(bytes))")
            }
        }
    }
}

// MARK: handshakes

let extensions = [
    "permessage-deflate", "permessage-deflate; server_no_context_takeover; client_max_window_bits=10",
    "permessage-deflate; server_max_window_bits=\"15\"", "permessage-deflate, x-webkit; a=b",
]

func judge(_ agreed: DeflateAgreement?, _ text: String) {
    guard let agreed else { return }
    guard (8...15).contains(agreed.clientWindow), (8...15).contains(agreed.serverWindow), agreed.clientWindow <= 12
    else { fail("agreed on \(agreed) by \(text)") }
}

func offers() {
    let offer = DeflateOffer()
    for text in Mutations(of: extensions, count: count, seed: seed, spice: ";=,\"\\ -_09az") {
        judge(try? DeflateOffer.agreement(text, to: offer), text)
    }
}

func handshakes() {
    let handshake = WebSocketHandshake(random: Array(0..<16), protocols: ["chat", "graphql-transport-ws"])
    let accept = WebSocketHandshake.accept(handshake.key)
    let usual = [
        ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Accept", accept),
        ("Sec-WebSocket-Protocol", "chat"), ("Sec-WebSocket-Extensions", extensions[1]),
    ]
    var damaged = Mutations(of: usual.map(\.1) + extensions, count: count, seed: seed, spice: ",;= \"\twW")
    var random = SeededRandom(seed: seed)
    while let text = damaged.next() {
        let dice = Int(random.next() % 64)
        var fields: HTTPFields = []
        for (index, field) in usual.enumerated() {
            if dice % 8 != index { fields.add(field.0, field.1) }
            // in the place of the field, or beside it
            if dice % 8 == index || dice / 8 == index { fields.add(field.0, text) }
        }
        guard let agreement = try? handshake.agreement(with: fields) else { continue }
        guard fields.all("Sec-WebSocket-Accept") == [accept] else { fail("accepted \(fields)") }
        if let name = agreement.subprotocol, !handshake.protocols.contains(name) { fail("the protocol of \(fields)") }
        judge(agreement.deflate, text)
    }
}

for (name, run) in [("heads of frames", frames), ("offers of compression", offers), ("handshakes", handshakes)] {
    let began = ContinuousClock.now
    run()
    var usage = rusage()
    getrusage(Int32(truncatingIfNeeded: RUSAGE_SELF.rawValue), &usage)
    let seconds = (ContinuousClock.now - began).components.seconds
    print("\(count) \(name): no fault, \(seconds) s, \(usage.ru_maxrss >> 10) MiB held")
    fflush(nil)
}
