// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct PainterTests {
    @Test(
        arguments: [
            (
                #"{"a":[1,{"b":null}],"c":{},"d":[ ]}"#,
                "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}\n"
            ),
            ("1 2\n\"x\"", "1\n2\n\"x\"\n"), ("", ""), (#""a\"b\\""#, "\"a\\\"b\\\\\"\n"),
            ("{\"a\u{1B}\":\"\u{0}\u{7F}\u{9B}é\"}", "{\n  \"a\\u001b\": \"\\u0000\\u007f\\u009bé\"\n}\n"),
            ("no, <json>\u{1B}[2J", "no,\n<json>\\u001b[\n  2J\n"), ("[[1", "[\n  [\n    1\n"), ("]]}", "]]}\n"),
        ])
    func `layout does not depend on the pieces`(text: String, expected: String) {
        var whole = JSONPainter(colours: false, layout: true)
        #expect(String(decoding: whole.paint(text.utf8) + whole.finish(), as: UTF8.self) == expected)
        var single = JSONPainter(colours: false, layout: true)
        let pieces = text.utf8.flatMap { single.paint([$0]) }
        #expect(String(decoding: pieces + single.finish(), as: UTF8.self) == expected)
    }

    @Test func `colours leave the text as it is`() {
        let text = "{\"k\" : [1.5e3, true , \"s\"]}\n"
        var painter = JSONPainter(colours: true, layout: false)
        let painted = String(decoding: painter.paint(text.utf8) + painter.finish(), as: UTF8.self)
        #expect(
            painted == "{\u{1B}[34;1m\"k\"\u{1B}[0m : [\u{1B}[36m1.5e3\u{1B}[0m, \u{1B}[35mtrue\u{1B}[0m , "
                + "\u{1B}[32m\"s\"\u{1B}[0m]}\n")
    }

    @Test func `deep values keep a bounded indentation`() {
        var painter = JSONPainter(colours: false, layout: true)
        let deep = String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000)
        let painted = painter.paint(deep.utf8) + painter.finish()
        #expect(painted.filter { $0 == UInt8(ascii: "[") }.count == 5000)
        #expect(painted.filter { $0 == UInt8(ascii: "]") }.count == 5000)
        #expect(painted.count < 5000 * 450)
    }
}
