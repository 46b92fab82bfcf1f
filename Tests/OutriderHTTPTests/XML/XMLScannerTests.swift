// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Short XML documents.
@Suite struct XMLScannerTests {
    private static func scan(_ text: String) -> XMLElement? { XMLScanner.scan(Array(text.utf8)) }

    @Test func `elements, text and references are read, attributes and comments are passed over`() throws {
        let root = try #require(
            Self.scan(
                """
                \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
                <!-- first -->
                <a:list xmlns:a='urn:x' b = "1 > 0">
                  <one>a&amp;b&lt;&#65;&#x1F600;</one><two/><one>c</one><!-- - --><three><![CDATA[<&>]]></three>
                </a:list >
                <!-- last -->
                """))
        #expect(root.name == "list")
        #expect(root.children.map(\.name) == ["one", "two", "one", "three"])
        #expect(root.first("one")?.text == "a&b<A😀")
        #expect(root.first("three")?.text == "<&>")
        #expect(root.first("two")?.text == "" && root.first("four") == nil && root.first("one", "two") == nil)
    }

    @Test(
        "what is no document, or could be dangerous, is refused",
        arguments: [
            "", "text", "<a>", "<a></b>", "<a/><b/>", "<a/>text", "<a><b></a></b>", "<a b=1/>", "<a b='<'/>",
            "<a b='1'c='2'/>",
            "<a>&other;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&amp</a>", "<a><!-- -- --></a>", "<a><![CDATA[</a>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<a><?php x ?></a>", "< a/>", "<1a/>", "<a", "<a b",
            "<a b=\"",
        ])
    func refused(_ text: String) { #expect(Self.scan(text) == nil) }

    @Test func `what is too deep, too much or no UTF-8 is refused`() {
        let deep = { (depth: Int) in
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(Self.scan(deep(16)) != nil && Self.scan(deep(17)) == nil)
        #expect(Self.scan("<a>\(String(repeating: "<b/>", count: 4096))</a>") == nil)
        #expect(Self.scan("<a>\(String(repeating: "x", count: 256 << 10))</a>") == nil)
        #expect(XMLScanner.scan([0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E]) == nil)
    }

    @Test func `a document that is cut anywhere is none`() {
        let whole = Array("<?xml version=\"1.0\"?><a b='c'><d>e&amp;</d><![CDATA[f]]><!--g--></a>".utf8)
        #expect(XMLScanner.scan(whole) != nil)
        for count in 0..<whole.count { #expect(XMLScanner.scan(Array(whole.prefix(count))) == nil) }
    }
}
