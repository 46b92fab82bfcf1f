// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The acceptable media types of a response.
package enum AcceptableTypes: Sendable, Equatable {
    /// The types in the request's Accept; any type without that field.
    case accept
    /// Media types or patterns such as `text/*`. Parameters are ignored.
    case list([String])

    /// As they are written, for these facts.
    private func patterns(_ facts: ResponseFacts) -> [String] {
        switch self {
        case .list(let types): types
        case .accept: facts.accept.map { $0.flatMap(FieldRules.listed) } ?? ["*/*"]
        }
    }

    /// Why the Content-Type is not acceptable; nil if acceptable. An empty body is acceptable with any type.
    func fault(_ facts: ResponseFacts, isEmpty: Bool) -> HTTPFailure? {
        if isEmpty { return nil }
        let written = patterns(facts)
        let patterns = written.compactMap(Self.type)
        guard let text = facts.contentType, let type = Self.type(text) else {
            if patterns.contains(where: { $0.type == "*" && $0.subtype == "*" }) { return nil }
            let list = written.sorted()
            return HTTPFailure(
                .missingContentType,
                "Response Content-Type was missing, and acceptable are \(Self.shown(list)) (\(facts.shown))",
                sent: .sent, details: [.acceptable(list)])
        }
        if accepts(patterns.filter { type.matches($0) }) { return nil }
        let list = written.sorted()
        return HTTPFailure(
            .unacceptableContentType,
            "Response Content-Type was unacceptable: \(type.essence), not \(Self.shown(list)) (\(facts.shown))",
            sent: .sent, details: [.acceptable(list), .contentType(type.essence)])
    }

    /// Whether the patterns that match a type accept the type: in Accept, the most specific pattern decides, and a weight of
    /// 0 refuses (RFC 9110 sections 12.4.2 and 12.5.1).
    private func accepts(_ matching: [MediaType]) -> Bool {
        guard case .accept = self else { return !matching.isEmpty }
        let most = matching.map(Self.precision).max()
        return matching.contains { Self.precision($0) == most && !Self.isRefused($0) }
    }

    private static func precision(_ pattern: MediaType) -> Int {
        (pattern.type == "*" ? 0 : 1) + (pattern.subtype == "*" ? 0 : 1)
    }

    private static func isRefused(_ pattern: MediaType) -> Bool {
        pattern.parameters.first { $0.name == "q" }.map { Double($0.value) == 0 } ?? false
    }

    /// A media type or pattern; parameters and surrounding space are ignored.
    package static func type(_ text: String) -> MediaType? {
        MediaType(parsing: String(FieldRules.trimmed(text[...])))
    }

    private static func shown(_ list: [String]) -> String {
        if list.isEmpty { return "none" }
        let few = list.prefix(6).joined(separator: ", ")
        return list.count > 6 ? "\(few) and \(list.count - 6) more" : few
    }
}
