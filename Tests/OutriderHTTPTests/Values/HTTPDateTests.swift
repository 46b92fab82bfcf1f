// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HTTPDateTests {
    /// 6 November 1994, 08:49:37.
    private static let sample: Int64 = 784_111_777

    @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func `the three formats mean the same`(text: String) {
        #expect(HTTPDate.parse(text, now: Self.sample) == Self.sample)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Sat Nov 12 23:59:59 2022", 1_668_297_599),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
    ])
    func `days are counted right`(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text, now: 0) == seconds)
    }

    @Test(arguments: [
        "", "Sun", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 94", "784111777", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:-1 GMT",
    ])
    func `anything else is no date`(text: String) {
        #expect(HTTPDate.parse(text, now: Self.sample) == nil)
    }

    @Test func `a year of two digits is at most fifty years ahead`() {
        let now = HTTPDate.parse("Wed, 01 Jan 2025 00:00:00 GMT", now: 0) ?? 0
        let year = { (text: String) in
            HTTPDate.parse("Monday, 01-Jan-\(text) 00:00:00 GMT", now: now).flatMap(HTTPDate.format)?.split(
                separator: " ")[3]
        }
        #expect(year("75") == "2075")
        #expect(year("76") == "1976")
        #expect(year("25") == "2025")
        #expect(year("00") == "2000")
    }

    @Test func `a date is written in the first format`() {
        #expect(HTTPDate.format(Self.sample) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(-1) == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate.format(-62_135_596_800) == "Mon, 01 Jan 0001 00:00:00 GMT")
        #expect(HTTPDate.format(-62_135_596_801) == nil)
        #expect(HTTPDate.format(253_402_300_800) == nil)
        #expect(HTTPDate.format(.max) == nil)
        #expect(HTTPDate.format(.min) == nil)
    }

    @Test func `every day can be written and read again`() {
        for day in stride(from: Int64(-719_162), through: 2_932_896, by: 977) {
            let seconds = day * 86_400 + day.magnitude.description.utf8.reduce(0) { $0 + Int64($1) } * 60
            #expect(HTTPDate.format(seconds).flatMap { HTTPDate.parse($0, now: 0) } == seconds)
        }
    }
}
