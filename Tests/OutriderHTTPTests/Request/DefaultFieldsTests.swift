// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct DefaultFieldsTests {
    @Test(
        arguments: [
            (nil, "de_DE.UTF-8", ["de-DE"]), ("de_AT:de:en", "en_US.UTF-8", ["de-AT", "de", "en", "en-US"]),
            ("", "C.UTF-8", []), (nil, "POSIX", []), (nil, nil, []), ("C", "C", []), (nil, "sr_RS@latin", ["sr-RS"]),
            ("de:de", "de", ["de"]), ("x\r\ny:en", nil, ["en"]), (nil, "zh_Hant_TW.UTF-8", ["zh-Hant-TW"]),
            ("::", "", []),
        ] as [(String?, String?, [String])])
    func `languages come from the environment`(language: String?, lang: String?, expected: [String]) {
        #expect(DefaultFields.languages(language: language, lang: lang) == expected)
    }

    @Test func `the first locale that is set wins`() {
        #expect(DefaultFields.languages(language: nil, lcAll: "fr_FR", lcMessages: "it", lang: "en") == ["fr-FR"])
        #expect(DefaultFields.languages(language: nil, lcAll: "", lcMessages: "it", lang: "en") == ["it"])
    }

    @Test func `six languages at most are offered, in falling preference [D6]`() {
        let value = DefaultFields.acceptLanguage(["a", "b", "c", "d", "e", "f", "g"])
        #expect(value == "a;q=1.0, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5")
        #expect(DefaultFields.acceptLanguage([]) == nil)
        #expect(!DefaultFields.make(version: "1").contains("Accept-Language"))
    }

    @Test func `the defaults may all be sent [D5] [D7]`() {
        for field in DefaultFields.make(version: "1.2.3", languages: ["en"]).list {
            #expect(FieldRules.fault(inField: field.name, field.value) == nil)
        }
    }
}
