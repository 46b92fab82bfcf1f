// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// The examples of RFC 7541 appendix C, and blocks that are no blocks.
struct HPACKTests {
    private func decode(_ blocks: [String]) -> [[String]] {
        var decoder = HPACKDecoder()
        return blocks.map { hex in
            var fields = HTTP2FieldBlock(keeps: true)
            let fault = HTTP2FrameTexts.bytes(hex).withUnsafeBytes { decoder.decode($0, into: &fields) }
            if let fault { return ["\(fault)"] }
            let status = fields.status.map { [":status: \($0)"] } ?? []
            return status + fields.fields.map { "\($0.name): \($0.value)" }
        }
    }

    private static let responses = [
        [
            ":status: 302", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
            "location: https://www.example.com",
        ],
        [
            ":status: 307", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT",
            "location: https://www.example.com",
        ],
        [
            ":status: 200", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:22 GMT",
            "location: https://www.example.com", "content-encoding: gzip",
            "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        ],
    ]

    // both begin with a table of 256 bytes, in which entries are evicted
    @Test func `responses without Huffman code are those of appendix C.5`() {
        let blocks = [
            "3fe101 4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54"
                + "6e1768747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a"
                + "4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
        ]
        #expect(decode(blocks) == Self.responses)
    }

    @Test func `responses with Huffman code are those of appendix C.6`() {
        let blocks = [
            "3fe101 488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae"
                + "82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af"
                + "27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ]
        #expect(decode(blocks) == Self.responses)
    }

    // a client never decodes requests: their pseudo-fields are refused, and everything else is read
    @Test func `requests of appendix C.4 are decoded`() {
        let blocks = [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ]
        #expect(decode(blocks) == [[], ["cache-control: no-cache"], ["custom-key: custom-value"]])
    }

    @Test(arguments: [
        "80", "ff80808080 01", "be", "40", "400a637573746f6d2d6b6579", "8820", "3fe21f", "00817f81ff", "0081ff00",
        "ffffffffffffffffffffff", "0085ffffffff8000",
    ])
    func `a block that is none ends the connection`(hex: String) {
        #expect(decode([hex]) == [["malformed"]])
    }

    @Test func `values that are not UTF-8 are ISO 8859-1`() {
        let found = decode(["000161 02c3a9 000161 01e9 400161 02e980 be 0f1f 022fe9"])
        #expect(found == [["a: \u{E9}", "a: \u{E9}", "a: \u{E9}\u{80}", "a: \u{E9}\u{80}", "location: /%E9"]])
    }

    @Test func `a server's bytes go back as they came`() {
        var encoder = HPACKEncoder()
        var output = WireBytes()
        encoder.begin(&output)
        encoder.field("Cookie", bytes: [0x61, 0x3D, 0xE9], &output)
        encoder.field("X-Y", bytes: [0xFF], &output)
        let cookie: [UInt8] = [0x1F, 0x11, 0x03, 0x61, 0x3D, 0xE9]
        #expect(Array(output.bytes) == cookie + [0x10, 0x03] + Array("x-y".utf8) + [0x01, 0xFF])
    }

    @Test func `fields beyond the limits are decoded and not kept`() {
        var decoder = HPACKDecoder()
        var encoder = HPACKEncoder()
        var output = WireBytes()
        encoder.begin(&output)
        for _ in 0..<17 { encoder.field("x-large", String(repeating: "a", count: 4000), &output) }
        encoder.field("x-after", "b", &output)
        var fields = HTTP2FieldBlock(keeps: true)
        #expect(decoder.decode(output.bytes, into: &fields) == nil)
        #expect(fields.isTooLarge && fields.fields.isEmpty)
        output.clear()
        encoder.field("x-after", "b", &output)
        var next = HTTP2FieldBlock(keeps: true)
        #expect(decoder.decode(output.bytes, into: &next) == nil)
        #expect(next.fields == [HTTPFields.Field("x-after", "b")] && !next.isTooLarge)
    }

    @Test func `a small block of many references is stopped`() {
        var decoder = HPACKDecoder()
        var block = HTTP2FrameTexts.bytes("4001617fa11e") + [UInt8](repeating: UInt8(ascii: "b"), count: 4000)
        block += [UInt8](repeating: 0xBE, count: 60 << 10)
        var fields = HTTP2FieldBlock(keeps: true)
        #expect(block.withUnsafeBytes { decoder.decode($0, into: &fields) } == .tooMuch)
        #expect(fields.isTooLarge)
    }

    @Test func `secrets and short cookies are never indexed`() {
        var encoder = HPACKEncoder()
        for (name, value) in [("Authorization", "Bearer x"), ("Proxy-Authorization", "Basic y"), ("Cookie", "a=b")] {
            for _ in 0..<2 {
                var output = WireBytes()
                encoder.field(name, value, &output)
                #expect(output.bytes[0] & 0xF0 == 0x10)
            }
        }
        var output = WireBytes()
        encoder.field("Cookie", "session=0123456789abcdef", &output)
        #expect(output.bytes[0] & 0xC0 == 0x40)
    }

    @Test func `what is encoded is decoded, through evictions and other sizes of the table`() {
        var random = SeededRandom(seed: 7)
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        let names = ["accept", "X-A", "x-long-name", "etag", "cookie", "user-agent", "é"]
        for _ in 0..<3000 {
            if Int.random(in: 0..<40, using: &random) == 0 {
                encoder.resize([0, 40, 200, 4096, 1 << 20].randomElement(using: &random) ?? 0)
            }
            let list = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                let length = Int.random(in: 0...4, using: &random) * Int.random(in: 0...40, using: &random)
                let value = String(
                    decoding: (0..<length).map { _ in UInt8.random(in: 0x21...0x7E, using: &random) }, as: UTF8.self)
                return HTTPFields.Field(names.randomElement(using: &random) ?? "", value)
            }
            var output = WireBytes()
            encoder.begin(&output)
            for field in list { encoder.field(field.name, field.value, &output) }
            var fields = HTTP2FieldBlock(keeps: true)
            #expect(decoder.decode(output.bytes, into: &fields) == nil)
            let wanted = list.filter { $0.name != "é" }.map { HTTPFields.Field($0.name.lowercased(), $0.value) }
            #expect(fields.fields == wanted)
        }
    }

    @Test func `fields that come again are read as the first time, and enter the table each time`() {
        var decoder = HPACKDecoder()
        // server and etag with entries, content-length without, x with a name of its own, then the entry before the last
        let block = HTTP2FrameTexts.bytes("7601616285aec3771a4b0f0d01334001780179bf")
        let first = ["server: a", "etag: private", "content-length: 3", "x: y", "etag: private"]
        for round in 0..<6 {
            var fields = HTTP2FieldBlock(keeps: true)
            #expect(block.withUnsafeBytes { decoder.decode($0, into: &fields) } == nil)
            #expect(fields.fields.map { "\($0.name): \($0.value)" } == first, "round \(round)")
            #expect(fields.length == 3)
        }
        // a value that the cut ends is not taken from memory
        var fields = HTTP2FieldBlock(keeps: true)
        #expect(block.dropLast(2).withUnsafeBytes { decoder.decode($0, into: &fields) } == .malformed)
    }

    @Test func `random blocks do no harm`() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<2000 {
            var decoder = HPACKDecoder()
            for _ in 0..<3 {
                let block = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                var fields = HTTP2FieldBlock(keeps: Bool.random(using: &random))
                if block.withUnsafeBytes({ decoder.decode($0, into: &fields) }) != nil { break }
            }
        }
    }
}
