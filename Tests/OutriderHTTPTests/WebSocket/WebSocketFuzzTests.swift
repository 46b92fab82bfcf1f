// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Testing

@testable import OutriderHTTP

/// Random and mutated bytes. `OUTRIDER_FUZZ` names the number of rounds; the usual one keeps the tests quick.
struct WebSocketFuzzTests {
    private static let rounds = getenv("OUTRIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 1000
    private static let maxMessage = 300

    /// Frames that are right, as a rule.
    private static func frames(_ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let opcode = [0, 0, 1, 1, 2, 2, 8, 9, 10, 3].randomElement(using: &random) ?? 1
            let most = opcode >= 8 ? 20 : 200
            let payload = (0..<Int.random(in: 0...most, using: &random)).map { _ in
                UInt8.random(in: 0x20...0x7E, using: &random)
            }
            let isFinal = opcode >= 8 || Int.random(in: 0..<3, using: &random) > 0
            bytes += serverFrame(UInt8(opcode), payload, isFinal: isFinal)
        }
        return bytes
    }

    /// `#expect` costs more than a round.
    private static func expect(_ holds: Bool, _ comment: () -> String) {
        if !holds { Issue.record("\(comment())") }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard let at = bytes.indices.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.remove(at: at)
            default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
            }
        }
    }

    private static func feed(_ bytes: [UInt8], cutAt cuts: [Int]) -> AllArrivals {
        var machine = WebSocketMachine(maxMessage: maxMessage)
        var all = AllArrivals()
        var start = 0
        for end in cuts + [bytes.count] {
            bytes[start..<end].withUnsafeBytes { all.receive($0, &machine, mask: 7) }
            start = end
        }
        return all
    }

    @Test func `frames mean the same however they are cut, and never more than the limit`() {
        var random = SeededRandom(seed: 17)
        for round in 0..<Self.rounds {
            var bytes = Self.frames(&random)
            Self.mutate(&bytes, &random)
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            let whole = Self.feed(bytes, cutAt: [])
            let cut = Self.feed(bytes, cutAt: cuts)
            Self.expect(whole.records == cut.records && whole.end == cut.end) {
                "round \(round), cut at \(cuts): \(bytes)"
            }
            var scanner = MessageRecordScanner(longest: Self.maxMessage)
            scanner.feed(whole.records)
            var count = 0
            while let _ = try? scanner.next() { count += 1 }
            Self.expect(count == whole.messages) { "round \(round): \(bytes)" }
        }
    }

    @Test func `text is valid or not as the standard library says`() {
        var random = SeededRandom(seed: 18)
        for round in 0..<Self.rounds {
            var bytes = Array("aé漢🐺\u{10FFFF}ascii only, for a while".utf8)
            Self.mutate(&bytes, &random)
            var validator = UTF8Validator()
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let isAccepted =
                bytes[..<cut].withUnsafeBytes { validator.accept($0) }
                && bytes[cut...].withUnsafeBytes { validator.accept($0) } && validator.isComplete
            Self.expect(isAccepted == (String(validating: bytes, as: UTF8.self) != nil)) { "round \(round): \(bytes)" }
        }
    }

    @Test func `extensions are agreed on or refused`() {
        var random = SeededRandom(seed: 19)
        let offer = DeflateOffer()
        let samples = [
            "permessage-deflate", "permessage-deflate; server_no_context_takeover; client_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=\"15\"", "permessage-deflate, x-webkit; a=b",
        ]
        for text in Mutations(of: samples, count: Self.rounds, seed: random.next(), spice: ";=,\"\\ -_09az") {
            guard let agreed = try? DeflateOffer.agreement(text, to: offer) else { continue }
            Self.expect((8...15).contains(agreed.clientWindow) && (8...15).contains(agreed.serverWindow)) { text }
        }
    }

    @Test func `a handshake is accepted with its own key and an offered subprotocol alone`() {
        var random = SeededRandom(seed: 21)
        let handshake = WebSocketHandshake(random: Array(0..<16), protocols: ["chat"])
        let accept = WebSocketHandshake.accept(handshake.key)
        let usual = [
            ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Accept", accept),
            ("Sec-WebSocket-Protocol", "chat"),
        ]
        for text in Mutations(of: usual.map(\.1), count: Self.rounds, seed: random.next(), spice: ",;= \"wW") {
            let other = Int.random(in: 0..<8, using: &random)
            var fields: HTTPFields = []
            for (index, field) in usual.enumerated() {
                // in the place of a field, or beside it
                if other != index { fields.add(field.0, field.1) }
                if other % 4 == index { fields.add(field.0, text) }
            }
            guard let agreement = try? handshake.agreement(with: fields) else { continue }
            Self.expect(fields.all("Sec-WebSocket-Accept") == [accept] && agreement.subprotocol ?? "chat" == "chat") {
                "\(fields)"
            }
        }
    }

    @Test func `records of a client are whole, or end with a fault`() {
        var random = SeededRandom(seed: 20)
        for round in 0..<Self.rounds {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let payload = [UInt8](repeating: 7, count: Int.random(in: 0...300, using: &random))
                MessageRecord.append(
                    [.text, .binary, .control].randomElement(using: &random) ?? .text, payload, to: &bytes)
            }
            Self.mutate(&bytes, &random)
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let (whole, parts) = (
                Self.records(in: [bytes]), Self.records(in: [Array(bytes[..<cut]), Array(bytes[cut...])])
            )
            Self.expect(whole == parts) { "round \(round), cut at \(cut): \(bytes)" }
        }
    }

    /// The payloads, and the code of the fault behind them.
    private static func records(in pieces: [[UInt8]]) -> [[UInt8]] {
        var scanner = MessageRecordScanner(longest: 300)
        var found: [[UInt8]] = []
        for piece in pieces {
            scanner.feed(piece)
            do throws(WebSocketFault) {
                while let record = try scanner.next() { found.append(record.payload) }
            } catch {
                return found + [Array("\(error.code)".utf8)]
            }
        }
        return found
    }
}
