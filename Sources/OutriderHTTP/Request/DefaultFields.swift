// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The default fields of requests, unless the caller set them.
package enum DefaultFields {
    /// - Parameters:
    ///   - version: of the service, for User-Agent.
    ///   - languages: as `languages(fromEnvironment:)` gives them; none means no Accept-Language.
    package static func make(version: String, languages: [String] = []) -> HTTPFields {
        var fields: HTTPFields = []
        fields.add("User-Agent", "outrider/\(version) (Linux)")
        fields.add("Accept", "*/*")
        fields.add("Accept-Encoding", ContentCoding.offered)
        if let value = acceptLanguage(languages) { fields.add("Accept-Language", value) }
        return fields
    }

    /// The first six languages, in falling preference: `de-DE;q=1.0, de;q=0.9`. Nil for none.
    package static func acceptLanguage(_ languages: [String]) -> String? {
        let items = languages.prefix(6).enumerated().map { index, language in
            "\(language);q=\(index == 0 ? "1.0" : "0.\(10 - index)")"
        }
        return items.isEmpty ? nil : items.joined(separator: ", ")
    }

    /// The languages that a user prefers, from `LANGUAGE` (`de_DE:en`) and then the first set of `LC_ALL`,
    /// `LC_MESSAGES`, `LANG` (`de_DE.UTF-8`); `C` and `POSIX` are no languages. The values come as arguments: rules
    /// read no environment.
    package static func languages(
        language: String?, lcAll: String? = nil, lcMessages: String? = nil, lang: String?
    ) -> [String] {
        let locale = [lcAll, lcMessages, lang].compactMap { $0 }.first { !$0.isEmpty }
        let names = (language ?? "").split(separator: ":") + (locale.map { [$0[...]] } ?? [])
        var found: [String] = []
        for name in names {
            guard let tag = tag(ofLocale: name), !found.contains(tag) else { continue }
            found.append(tag)
        }
        return found
    }

    private static func tag(ofLocale name: Substring) -> String? {
        let bare = name.prefix { $0 != "." && $0 != "@" }
        if bare == "C" || bare == "POSIX" { return nil }
        let tag = bare.split(separator: "_", omittingEmptySubsequences: false).joined(separator: "-")
        let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
        let sound = parts.allSatisfy { part in
            (1...8).contains(part.utf8.count) && part.utf8.allSatisfy(isLetterOrDigit)
        }
        return sound && !parts.isEmpty ? tag : nil
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
