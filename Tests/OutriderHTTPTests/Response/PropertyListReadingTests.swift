// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct PropertyListReadingTests {
    private static func json(_ bytes: [UInt8]) -> String? {
        (try? PropertyListReading.json(bytes)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private static func json(_ xml: String) -> String? { json(Array(xml.utf8)) }

    private static let everything =
        #"{"a":[1,[],{}],"big":9223372036854775808,"d":{"$data":"AP8="},"n":-5,"name":"w\u00f6lf","no":false,"old":{"$date":"1970-01-01T00:00:00Z"},"t":{"$date":"2024-02-29T12:34:56Z"},"x":1.5,"yes":true}"#

    private static let xml = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
          <key>a</key>
          <array>
            <integer>1</integer>
            <array/>
            <dict/>
          </array>
          <key>big</key>
          <integer>9223372036854775808</integer>
          <key>d</key>
          <data>
          AP8=
          </data>
          <key>n</key>
          <integer>-5</integer>
          <key>name</key>
          <string>wölf</string>
          <key>no</key>
          <false/>
          <key>old</key>
          <date>1970-01-01T00:00:00Z</date>
          <key>t</key>
          <date>2024-02-29T12:34:56Z</date>
          <key>x</key>
          <real>1.5</real>
          <key>yes</key>
          <true/>
        </dict>
        </plist>
        """

    private static let binary: [UInt8] =
        Base64.decode(
            "YnBsaXN0MDDaAQIDBAUGBwgJCgsPEBESExQVFhdRYVNiaWdRZFFuVG5hbWVSbm9Tb2xkUXRReFN5ZXOjDA0OEAGg0BQAAAAAAAAA"
                + "AIAAAAAAAAAAQgD/E//////////7ZAB3APYAbABmCDPBzSfkQAAAADNBxchYuAAAACM/+AAAAAAAAAkIHR8jJScsLzM1Nzs/QUJD"
                + "VFdgaWpzfIUAAAAAAAABAQAAAAAAAAAYAAAAAAAAAAAAAAAAAAAAhg=="
        ) ?? []

    @Test func `XML becomes JSON, with tags where JSON has no word [H13]`() {
        #expect(Self.json(Self.xml) == Self.everything)
    }

    @Test func `so does a binary list [H13]`() {
        #expect(Self.json(Self.binary) == Self.everything)
        let uid = "YnBsaXN0MDDRAQJUJHRvcIAHCAsQAAAAAAAAAQEAAAAAAAAAAwAAAAAAAAAAAAAAAAAAABI="
        #expect(Self.json(Base64.decode(uid) ?? []) == #"{"$top":{"$uid":7}}"#)
    }

    @Test(arguments: [
        ("<string>a &lt;b&gt; &amp; &#233;&#x1F600;</string>", #""a <b> & \u00e9\ud83d\ude00""#),
        ("<string><![CDATA[<x> & ]] y]]></string>", #""<x> & ]] y""#), ("<string/>", #""""#),
        ("<plist><integer> 0x1F </integer></plist>", "31"), ("<integer>+007</integer>", "7"),
        ("<integer>-0</integer>", "0"),
        ("<integer>340282366920938463463374607431768211455</integer>", "340282366920938463463374607431768211455"),
        ("<real>nan</real>", #"{"$real":"nan"}"#), ("<real>-infinity</real>", #"{"$real":"-inf"}"#),
        ("<real>1e3</real>", "1000.0"), ("<array><!-- c --><true/><?x y?><false></false></array>", "[true,false]"),
        ("<data>\n aGVs bG8=\n</data>", #"{"$data":"aGVsbG8="}"#), ("\u{feff}<dict/>", "{}"),
        (
            "<?xml version='1.0' encoding='UTF-8'?><plist version=\"1.0\"><dict><key/><array/></dict></plist>",
            #"{"":[]}"#
        ),
    ])
    func `the XML that lists are written in is read [H13]`(xml: String, json: String) {
        #expect(Self.json(xml) == json)
    }

    @Test func `an XML list says its own encoding`() {
        let bytes =
            Array("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><string>".utf8) + [0xE9] + Array("</string>".utf8)
        #expect(Self.json(bytes) == #""\u00e9""#)
    }

    @Test(arguments: [
        "", " ", "{}", "<", "<plist>", "<plist/>", "<plist></plist>", "<dict>", "<dict></array>",
        "<dict><string>x</string></dict>",
        "<dict><key>a</key></dict>", "<dict><key>a</key><true/><key>a</key><true/></dict>", "<integer>1.5</integer>",
        "<integer/>", "<integer>0x</integer>", "<integer>0x+1</integer>", "<real>x</real>",
        "<date>2024-13-01T00:00:00Z</date>", "<date>now</date>",
        "<data>a</data>", "<string>&nbsp;</string>", "<string>&</string>", "<string>&#xD800;</string>",
        "<string><b/></string>",
        "<string>x", "<true>x</true>", "<html/>", "<string/><string/>", "<string a='/>", "<!-- x", "<?xml",
        "<!DOCTYPE plist [<!ENTITY a \"aaaa\">]><string>&a;</string>", "bplist00",
        "bplist01xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ])
    func `what is no property list is refused, with a reason`(text: String) {
        #expect {
            _ = try PropertyListReading.json(Array(text.utf8))
        } throws: { error in
            (error as? PropertyListFault)?.reason.isEmpty == false
        }
    }

    @Test func `lists are bounded in depth, in either form`() {
        let deep = String(repeating: "<array>", count: 200) + String(repeating: "</array>", count: 200)
        #expect(Self.json(deep) == nil)
        let fine = String(repeating: "<array>", count: 100) + String(repeating: "</array>", count: 100)
        #expect(Self.json(fine) != nil)
    }

    /// An array that holds another one many times, which holds another one many times, and so on.
    private static func laughter(levels: Int, width: Int) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for level in 0..<levels {
            offsets.append(UInt8(bytes.count))
            bytes.append(0xA0 | UInt8(width))
            bytes += Array(repeating: UInt8(level + 1), count: width)
        }
        offsets.append(UInt8(bytes.count))
        bytes.append(0x09)
        let table = bytes.count
        bytes += offsets + Array(repeating: 0, count: 6) + [1, 1]
        for number in [offsets.count, 0, table] { bytes += Array(repeating: 0, count: 7) + [UInt8(number)] }
        return bytes
    }

    @Test func `a small list cannot become a large one`() {
        #expect(Self.json(Self.laughter(levels: 1, width: 3)) == "[true,true,true]")
        #expect(Self.json(Self.laughter(levels: 14, width: 14)) == nil)
    }

    @Test func `a binary string keeps the mark of a byte order that is its first character`() {
        let bytes = Array("bplist00".utf8) + [0x62, 0xFE, 0xFF, 0, 0x61, 8] + Array(repeating: 0, count: 6) + [1, 1]
        let numbers = [1, 0, 13].flatMap { Array(repeating: 0 as UInt8, count: 7) + [UInt8($0)] }
        #expect(Self.json(bytes + numbers) == #""\ufeffa""#)
    }

    @Test func `a list that holds itself is refused`() {
        let bytes = Array("bplist00".utf8) + [0xA1, 0] + [8] + Array(repeating: 0, count: 6) + [1, 1]
        let numbers = [1, 0, 10].flatMap { Array(repeating: 0 as UInt8, count: 7) + [UInt8($0)] }
        #expect(Self.json(bytes + numbers) == nil)
    }

    @Test func `no change of a list does harm`() {
        var random = SeededRandom(seed: 12)
        for sample in [Self.binary, Array(Self.xml.utf8)] {
            for _ in 0..<6000 {
                var bytes = sample
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes.remove(at: place)
                    default: bytes.insert([0x00, 0xFF, 0x0F, 0x3C, 0x26].randomElement(using: &random) ?? 0, at: place)
                    }
                }
                if let text = Self.json(bytes) { #expect((try? JSONText(checking: Array(text.utf8))) != nil) }
            }
        }
    }
}
