// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HostNameTests {
    @Test(arguments: [
        ("b\u{fc}cher.example", "xn--bcher-kva.example"),
        ("B\u{dc}CHER.example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"),
        ("b%C3%BCcher.example", "xn--bcher-kva.example"),
        ("m\u{fc}nchen.de", "xn--mnchen-3ya.de"),
        ("fa\u{df}.example", "xn--fa-hia.example"),
        ("\u{65e5}\u{672c}\u{8a9e}.jp", "xn--wgv71a119e.jp"),
        ("\u{4f8b}\u{3048}.\u{30c6}\u{30b9}\u{30c8}", "xn--r8jz45g.xn--zckzah"),
        ("\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}", "xn--e1afmkfd.xn--p1ai"),
        ("\u{3c0}\u{3b1}\u{3c1}\u{3ac}\u{3b4}\u{3b5}\u{3b9}\u{3b3}\u{3bc}\u{3b1}.gr", "xn--hxajbheg2az3al.gr"),
        ("\u{1f600}.example", "xn--e28h.example"),
        ("\u{ff45}xample\u{3002}org", "example.org"),
        ("ex\u{ad}ample.org", "example.org"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("EXAMPLE%2Eorg", "example.org"),
        ("\u{ff11}\u{ff12}\u{ff17}.1", "127.0.0.1"),
        // decomposed, as macOS stores names
        ("\u{1112}\u{1161}\u{11ab}.example", "xn--6q8b.example"), ("\u{304b}\u{3099}.example", "xn--v8j.example"),
        ("a\u{323}\u{302}.example", "xn--zkg.example"), ("a\u{302}\u{323}.example", "xn--zkg.example"),
        ("e\u{301}\u{323}.example", "xn--lsa503l.example"), ("\u{b95}\u{bc6}\u{bbe}.example", "xn--clc0i.example"),
        ("\u{5e9}\u{5bc}\u{5c1}.example", "xn--kdbk2j.example"), ("i\u{2764}\u{fe0f}.example", "xn--i-7iq.example"),
    ])
    func `names beyond ASCII become Punycode`(written: String, host: String) throws {
        #expect(try HTTPURL(parsing: "http://\(written)/").host == host)
    }

    @Test(arguments: [
        "\u{2100}.example", "\u{fb01}.example", "a\u{2028}b", "a\u{202e}b", "\u{fffd}", "a\u{e000}b",
        "\u{2460}.example",
        "a\u{2024}b", "a\u{361}\u{f73}.example",
    ])
    func `characters that would need the full mapping are refused`(written: String) {
        let failure = #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(written)/") }
        #expect(failure?.message.contains("write the name in ASCII") == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: [
        ".\u{301}", "a.\u{301}b.c", "\u{301}a.b", "good.\u{308}evil.example", "a\u{ff0e}\u{93e}",
    ])
    func `a label that begins with a mark is refused`(written: String) {
        let failure = #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(written)/") }
        #expect(failure?.message.contains("begins with a combining mark") == true, "\(failure?.message ?? "")")
    }

    @Test func `a full-width letter cannot smuggle a separator`() {
        for written in ["good\u{ff0f}evil", "good\u{ff20}evil", "good\u{ff1a}80", "good\u{ff1f}x", "good\u{ff03}x"] {
            #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(written)/") }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"), ("2130706433", "127.0.0.1"),
        ("0x7F000001", "127.0.0.1"), ("127.1", "127.0.0.1"), ("1.2.3.4.", "1.2.3.4"), ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("255.255.255.255", "255.255.255.255"), ("4294967295", "255.255.255.255"), ("1.65535", "1.0.255.255"),
        ("1.2.65535", "1.2.255.255"), ("%31.2.3.4", "1.2.3.4"),
    ])
    func `an IPv4 address has one form`(written: String, host: String) throws {
        #expect(try HTTPURL(parsing: "http://\(written)/").host == host)
    }

    @Test(arguments: [
        "256.0.0.1", "1.2.3.256", "1.2.3.4.5", "4294967296", "0x100000000", "1.2.65536", "1..2", "1.2.3.08", "1.2.3.09",
        "999999999999999999999999", "0x1ffffffffffffffffff", "a.1", "foo.0x4", "1.2.3.", "-1.2.3.4x.5",
    ])
    func `a host that ends in a number must be an IPv4 address`(written: String) throws {
        if written == "1.2.3." {
            #expect(try HTTPURL(parsing: "http://\(written)/").host == "1.2.0.3")
        } else {
            #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(written)/") }
        }
    }

    @Test(arguments: ["1.2.3.4x", "0xg", "1a.example", "1-2"])
    func `a host that ends in anything else is a name`(written: String) throws {
        #expect(try HTTPURL(parsing: "http://\(written)/").host == written)
    }

    @Test(arguments: [
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("0:0:0:0:0:0:0:1", "::1"), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"), ("2001:DB8::00FF", "2001:db8::ff"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("::ffff:1.2.3.4", "::ffff:102:304"), ("::1.2.3.4", "::102:304"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("0::0", "::"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ])
    func `an IPv6 address has one form`(written: String, host: String) throws {
        let url = try HTTPURL(parsing: "http://[\(written)]/")
        #expect(url.host == host)
        #expect(url.authority == "[\(host)]")
    }

    @Test(arguments: [
        "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "1:2:3:4:5:6:7:8::",
        "::1.2.3",
        "::1.2.3.4.5", "::1.2.3.256", "::01.2.3.4", "1.2.3.4::", "::1.2.3.4:5", "1:", ":1", "::1:", "+1::", "::-1",
        "0x1::",
        "1:2:3:4:5:6:7:1.2.3.4", "::1 ", "::\u{ff11}",
    ])
    func `other text in brackets is refused`(written: String) {
        #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://[\(written)]/") }
    }

    /// The samples of RFC 3492 section 7.1 that are in lower case.
    @Test(arguments: [
        ("\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}", "ihqwcrb4cv8a8dqg056pqjye"),
        (
            "pro\u{10D}prost\u{11B}nemluv\u{ED}\u{10D}esky",
            "proprostnemluvesky-uyb24dma41a"
        ),
        (
            "porqu\u{E9}nopuedensimplementehablarenespa\u{F1}ol",
            "porqunopuedensimplementehablarenespaol-fmd56a"
        ),
        ("2\u{5E74}b\u{7D44}\u{91D1}\u{516B}\u{5148}\u{751F}", "2b-833bja2471gq7hb2e"),
    ])
    func `the samples of RFC 3492 are encoded as it says`(label: String, encoded: String) throws {
        // upper-case letters of the RFC's samples are lower-cased first, as names of hosts are
        let host = try HTTPURL(parsing: "http://\(label).example/").host
        #expect(host.hasPrefix("xn--") && host.hasSuffix(".example"))
        if label.unicodeScalars.first != "2" { #expect(host == "xn--\(encoded).example") }
    }
}
