// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct LanguageVariantTests {
    private static func variant(weight: String) -> String {
        CacheKey.variant(["accept-language"], of: [HTTPFields.Field("Accept-Language", "de, en; q=\(weight)")])
    }

    @Test(arguments: [("0.50", "0.5"), ("0.500", "0.5"), ("0.", "0"), ("0.000", "0"), ("1.000", "1"), ("1.00", "1.")])
    func `zeros at the end of a weight select no other response`(one: String, other: String) {
        #expect(Self.variant(weight: one) == Self.variant(weight: other))
    }

    @Test(arguments: [("0.5", "0.05"), ("0.5", "1"), ("0", "1"), ("0.10", "0.01"), ("10", "1"), ("00", "0")])
    func `different weights select different responses`(one: String, other: String) {
        #expect(Self.variant(weight: one) != Self.variant(weight: other))
    }
}
