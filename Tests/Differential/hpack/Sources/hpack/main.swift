// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// hpack [BLOCKS [SEED]]: decodes random blocks of fields with our HPACK and with nghttp2's, and stops where they differ.
//
// A third of the blocks are nghttp2's, a third are ours, and the others are one of these with bytes changed, left out or put
// in. Each connection has about 30 blocks, so that tables fill, evict and change their sizes; a block that both refuse ends it.

import Glibc

/// SplitMix64.
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
}

struct Counts {
    var blocks = 0
    var fields = 0
    var refused = 0
    var changed = 0
}

let names = [
    ":status", ":path", "accept", "content-length", "content-type", "cookie", "set-cookie", "date", "etag", "x-a",
    "x-long-name-of-a-field", "server", "vary", "authorization", "cache-control", "x-request-id", "via", "age",
].map { Array($0.utf8) }
let values = [
    "", "200", "404", "0", "12", "gzip, deflate", "text/html; charset=utf-8", "Mon, 21 Oct 2013 20:13:21 GMT",
    "max-age=60", "*/*", "nginx", "a=b; Path=/; Secure",
].map { Array($0.utf8) }

func randomField(_ random: inout Numbers) -> RawField {
    var name = names[random.below(names.count)]
    if random.below(8) == 0 { name = (0..<1 + random.below(20)).map { _ in UInt8(0x61 + random.below(26)) } }
    var value = values[random.below(values.count)]
    switch random.below(4) {
    case 0: value = (0..<random.below(60)).map { _ in UInt8(0x21 + random.below(94)) }
    case 1 where random.below(10) == 0: value = (0..<random.below(3000)).map { _ in UInt8(1 + random.below(255)) }
    default: break
    }
    return RawField(name: name, value: value)
}

func change(_ block: [UInt8], _ random: inout Numbers) -> [UInt8] {
    var block = block
    for _ in 0...random.below(3) {
        let place = random.below(block.count + 1)
        switch random.below(4) {
        case 0: block.insert(UInt8(random.below(256)), at: place)
        case 1 where place < block.count: block.remove(at: place)
        case 2: block.removeLast(min(block.count, random.below(4)))
        default: if place < block.count { block[place] ^= UInt8(1 << random.below(8)) }
        }
    }
    return block
}

/// The fields that a `HTTP2FieldBlock` keeps of these: those that may stand in a response.
func kept(_ fields: [RawField]) -> [HTTPFields.Field] {
    fields.compactMap { field in
        let kind = field.name.withUnsafeBytes { HTTP2FieldKind.of(name: $0) }
        guard [.regular, .contentLength].contains(field.value.withUnsafeBytes { kind.with(value: $0) }) else {
            return nil
        }
        let name = String(decoding: field.name, as: UTF8.self)
        return HTTPFields.Field(name, FieldRules.text(field.value, of: name))
    }
}

func stop(_ what: String, _ block: [UInt8], _ counts: Counts) -> Never {
    let hex = block.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    print("block \(counts.blocks): \(what)\n\(hex)")
    exit(1)
}

/// Blocks of one connection, until one is refused.
func connect(_ random: inout Numbers, _ counts: inout Counts) {
    guard let theirs = Nghttp2() else { stop("no memory", [], counts) }
    // the two directions of one encoder must not be mixed: one connection has blocks of one of them
    let isOurs = random.below(2) == 0
    var encoder = HPACKEncoder()
    var decoder = HPACKDecoder()
    var output = WireBytes()
    for _ in 0..<1 + random.below(60) {
        let sizes = [0, 64, 512, 4096]
        if random.below(20) == 0 {
            let size = sizes[random.below(sizes.count)]
            encoder.resize(size)
            theirs.resize(size)
        }
        let list = (0..<random.below(12)).map { _ in randomField(&random) }
        var block: [UInt8]
        if isOurs {
            output.clear()
            encoder.begin(&output)
            for field in list {
                encoder.field(
                    String(decoding: field.name, as: UTF8.self), String(decoding: field.value, as: UTF8.self), &output)
            }
            block = Array(output.bytes)
        } else {
            guard let made = theirs.encode(list) else { stop("nghttp2 did not encode it", [], counts) }
            block = made
        }
        let isChanged = random.below(3) == 0
        if isChanged { block = change(block, &random) }
        counts.blocks += 1
        if isChanged { counts.changed += 1 }
        guard compare(block, theirs, &decoder, isChanged ? nil : list, &counts) else { return }
        // the tables of encoder and decoders differ from now on
        if isChanged { return }
    }
}

/// Whether both decoded it, and alike.
func compare(
    _ block: [UInt8], _ theirs: borrowing Nghttp2, _ decoder: inout HPACKDecoder, _ list: [RawField]?,
    _ counts: inout Counts
) -> Bool {
    let expected = theirs.decode(block)
    var fields = HTTP2FieldBlock(keeps: true)
    let fault = block.withUnsafeBytes { decoder.decode($0, into: &fields) }
    guard let expected else {
        if fault == nil { stop("nghttp2 refuses what we decode: \(fields.fields)", block, counts) }
        if list != nil { stop("both refuse a block that is well-formed", block, counts) }
        counts.refused += 1
        return false
    }
    if let fault { stop("we refuse (\(fault)) what nghttp2 decodes: \(kept(expected))", block, counts) }
    counts.fields += expected.count
    if !fields.isTooLarge, fields.fields != kept(expected) {
        stop("we decode \(fields.fields), nghttp2 \(kept(expected))", block, counts)
    }
    if let list, kept(list.map(repaired)) != kept(expected.map(repaired)) {
        stop("nghttp2 decodes \(kept(expected)), which was \(kept(list))", block, counts)
    }
    return true
}

/// Our encoder takes text, so bytes that are no UTF-8 are replaced in it.
func repaired(_ field: RawField) -> RawField {
    RawField(name: field.name, value: Array(String(decoding: field.value, as: UTF8.self).utf8))
}

let words = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
let blocks = words.first ?? 10_000_000
var random = Numbers(state: words.dropFirst().first ?? 1)
var counts = Counts()
while counts.blocks < blocks { connect(&random, &counts) }
print(
    "\(counts.blocks) blocks, \(counts.fields) fields: equal; \(counts.changed) of them changed, "
        + "of which both refused \(counts.refused)")
