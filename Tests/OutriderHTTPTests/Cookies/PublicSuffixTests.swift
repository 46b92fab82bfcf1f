// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct PublicSuffixTests {
    @Test(
        arguments: [
            ("com", nil), ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("example", nil),
            ("b.example.example", "example.example"), ("uk.com", nil), ("b.example.uk.com", "example.uk.com"),
            ("mm", nil), ("c.mm", nil), ("a.b.c.mm", "b.c.mm"), ("kyoto.jp", nil), ("ide.kyoto.jp", nil),
            ("b.ide.kyoto.jp", "b.ide.kyoto.jp"), ("c.kobe.jp", nil), ("b.c.kobe.jp", "b.c.kobe.jp"),
            ("city.kobe.jp", "city.kobe.jp"), ("www.city.kobe.jp", "city.kobe.jp"), ("ck", nil), ("test.ck", nil),
            ("b.test.ck", "b.test.ck"), ("www.ck", "www.ck"), ("www.www.ck", "www.ck"), ("k12.ak.us", nil),
            ("test.k12.ak.us", "test.k12.ak.us"), ("xn--85x722f.com.cn", "xn--85x722f.com.cn"), ("xn--55qx5d.cn", nil),
            ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"), ("a.github.io", "a.github.io"),
            ("", nil), (".com", nil), ("a..com", nil), ("a.", nil),
        ] as [(String, String?)])
    func `the registrable domain of a name`(name: String, domain: String?) {
        #expect(PublicSuffixes.builtIn.registrableDomain(of: name) == domain)
    }

    @Test func `the list that is built in is whole and dated`() {
        #expect(PublicSuffixes.builtIn.count > 9000)
        #expect(PublicSuffixes.builtIn.date?.count == 10)
    }

    @Test func `a file has rules, wildcards, exceptions and remarks`() throws {
        let text = """
            // VERSION: 2031-02-03_04-05-06_UTC
            // a remark

            test  and what follows is no rule
            *.wide.test
            !not.wide.test
            bücher.test
            *
            a.*.test
            """
        let list = try #require(PublicSuffixes.read(text + "\r\nlast.test\r\n", date: "2000-01-01"))
        #expect(list.date == "2031-02-03" && list.count == 5)
        #expect(list.registrableDomain(of: "a.b.test") == "b.test")
        #expect(list.registrableDomain(of: "a.wide.test") == nil)
        #expect(list.registrableDomain(of: "x.a.wide.test") == "x.a.wide.test")
        #expect(list.registrableDomain(of: "x.not.wide.test") == "not.wide.test")
        #expect(list.registrableDomain(of: "xn--bcher-kva.test") == nil)
        #expect(list.registrableDomain(of: "last.test") == nil)
        #expect(PublicSuffixes.read("// nothing\n", date: nil) == nil)
    }
}
