// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct NumberAndDateTests {
    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("0.0", "0"), ("1", "1"), ("1.0", "1"), ("1.10", "1.1"), ("-1.5", "-1.5"),
        ("1e3", "1000"), ("1E+3", "1000"), ("1.5e1", "15"), ("1.25e1", "12.5"), ("25e-1", "2.5"), ("25e-4", "0.0025"),
        ("100e-2", "1"), ("0e999999999999999999999", "0"), ("10", "10"),
        (
            "123456789012345678901234567890.5",
            "123456789012345678901234567890.5"
        ),
    ])
    func `a decimal has neither exponent nor needless zeros`(text: String, plain: String) {
        #expect(DecimalNumber(text)?.plain == plain)
    }

    @Test(arguments: [
        "", "-", "01", "1.", ".5", "1e", "1e+", "+1", "1 ", "a", "1.2.3", "1e401", "1e-999", "NaN", "0x1",
    ])
    func `what is no decimal is refused`(text: String) {
        #expect(DecimalNumber(text) == nil)
    }

    @Test(
        arguments: [
            ("2001-01-01T00:02:03Z", 978_307_323, 0), ("2001-01-01t00:02:03z", 978_307_323, 0),
            ("2001-01-01T00:02:03.5Z", 978_307_323, 500_000_000), ("2001-01-01T01:32:03+01:30", 978_307_323, 0),
            ("2000-12-31T23:02:03.1234567891-01:00", 978_307_323, 123_456_789),
            ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
            ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
        ] as [(String, Int64, Int64)])
    func `RFC 3339 is read`(text: String, seconds: Int64, nanoseconds: Int64) throws {
        let moment = try #require(Moment(text))
        #expect(moment.seconds == seconds)
        #expect(moment.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        "", "2001-01-01", "2001-02-29T00:00:00Z", "2001-01-01T24:00:00Z", "2001-01-01T00:00:00", "2001-01-01 00:00:00Z",
        "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00+24:00", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
        "2001-01-01T00:00:00Z ", "-001-01-01T00:00:00Z", "2001-01-01T00:00:00+0100",
    ])
    func `what is no moment is refused`(text: String) {
        #expect(Moment(text) == nil)
    }

    @Test(arguments: [
        ("%Y-%m-%d %H:%M:%S", "2024-03-05 15:04:09"), ("%y %e %I %p", "24  5 03 PM"), ("%j", "065"),
        ("%a %A %b %B", "Tue Tuesday Mar March"), ("%f %s", "007000 1709651049"),
        ("%F %T%z %Z", "2024-03-05 15:04:09+0000 UTC"),
        ("100%% %q %", "100% %q %"), ("\u{e9}", "\u{e9}"), ("", ""),
    ])
    func `a pattern writes a date as strftime does`(format: String, text: String) throws {
        #expect(try #require(Moment("2024-03-05T15:04:09.007Z")).formatted(format) == text)
    }

    @Test func `whatever comes in, nothing traps`() {
        let numbers = ["-123.456e-7", "978307323.456", "0.000000001", "1e308", "253402300799.9999999999"]
        var accepted = 0
        for text in Mutations(of: numbers, count: 20_000, seed: 21, spice: "0123456789-+.eE") {
            guard let number = DecimalNumber(text) else { continue }
            accepted += 1
            #expect(DecimalNumber(number.plain)?.plain == number.plain, "\(text)")
            guard let moment = Moment(number) else { continue }
            #expect(Moment(moment.formatted("%Y-%m-%dT%H:%M:%S.%fZ"))?.seconds == moment.seconds, "\(text)")
        }
        #expect(accepted > 1000)
        for text in Mutations(of: ["2001-01-01T00:02:03.456+01:00"], count: 20_000, seed: 22, spice: "0123456789-+:.TZ")
        {
            guard let moment = Moment(text) else { continue }
            #expect((0..<1_000_000_000).contains(moment.nanoseconds))
            #expect(Moment(moment.iso8601)?.seconds == moment.seconds, "\(text)")
            _ = moment.formatted(text)
        }
    }
}
