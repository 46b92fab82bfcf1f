// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct CookieDateTests {
    @Test(arguments: [
        ("Wed, 09 Jun 2021 10:18:14 GMT", Int64(1_623_233_894)), ("Wednesday, 09-Jun-21 10:18:14 GMT", 1_623_233_894),
        ("9 june 2021 10:18:14", 1_623_233_894), ("2021 Jun 9 10:18:14 nonsense", 1_623_233_894),
        ("10:18:14 9 JUN 21", 1_623_233_894), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("1 jan 69 0:0:0", 3_124_224_000),
        ("1-Jan-70 0:0:0", 0), ("1 Jan 1601 00:00:00", -11_644_473_600), ("09 Jun 2021 10:18:14abc", 1_623_233_894),
    ])
    func `tokens stand in any order`(text: String, seconds: Int64) {
        #expect(CookieDate.parse(text.utf8) == seconds)
    }

    @Test(arguments: [
        "", "soon", "10:18:14", "Wed, 09 Jun 2021", "31 Feb 2021 10:18:14", "09 Jun 1600 10:18:14", "0 Jun 2021 1:1:1",
        "32 Jan 2021 1:1:1", "09 Jun 2021 24:00:00", "09 Jun 2021 10:60:00", "09 Jun 2021 10:00:60",
        "09 Jux 2021 1:1:1",
        "09 Jun 20210 1:1:1", "009 Jun 2021x", "09 Jun 2021 10:18:141", "\u{0}", ":::", "99999999999999999999",
    ])
    func `what is missing or does not exist is no date`(text: String) {
        #expect(CookieDate.parse(text.utf8) == nil)
    }
}
