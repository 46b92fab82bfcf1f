// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An exchange as text for people: a single line, or the full details.
package enum ExchangeDescription {
    /// A longer or binary body is shown as its length.
    package static let longestBody = 100_000

    /// `GET http://h/ (200)`; the status only once known.
    package static func line(_ facts: ExchangeFacts, _ redaction: Redaction) -> String {
        let line = "\(facts.method) \(redaction.url(facts.url))"
        return facts.head.map { "\(line) (\($0.status))" } ?? line
    }

    /// Sections in brackets: request, response, durations and result.
    package static func text(_ facts: ExchangeFacts, _ redaction: Redaction) -> String {
        var lines = request(facts, redaction)
        lines += response(facts, redaction)
        if let file = facts.file { lines.append("[File]: \(file)") }
        if let count = facts.resumeBytes { lines.append("[Resume Data]: \(bytes(count))") }
        if let total = facts.total { lines.append("[Network Duration]: \(seconds(total))") }
        if let timeline = facts.timeline { lines.append("[Timings]: \(timings(timeline))") }
        if !facts.redirects.isEmpty {
            lines.append("[Redirects]:")
            lines += facts.redirects.map { "    \($0.status) \(redaction.url($0.from))" }
        }
        if facts.attempts > 1 { lines.append("[Attempts]: \(facts.attempts)") }
        lines.append("[Result]: \(result(facts))")
        return lines.joined(separator: "\n")
    }

    private static func request(_ facts: ExchangeFacts, _ redaction: Redaction) -> [String] {
        guard let attempt = facts.attempt else { return ["[Request]: None"] }
        var lines = ["[Request]: \(attempt.method) \(redaction.url(attempt.url.description))"]
        if let proxy = attempt.proxy { lines.append("    [Proxy]: \(proxy.text(withSecrets: redaction == .none))") }
        lines += fields(attempt.wireFields, redaction)
        switch attempt.body {
        case .none: lines.append("    [Body]: None")
        case .file("-", let size): lines.append("    [Body]: \(bytes(Int(clamping: size)))")
        case .file(let path, let size): lines.append("    [Body]: \(bytes(Int(clamping: size))) of \(path)")
        case .composed(let body):
            let size = body.size.map { bytes(Int(clamping: $0)) } ?? "of unknown length"
            lines.append("    [Body]: \(size) in \(body.pieces.count) pieces")
        case .bytes(let body):
            let shown = attempt.hasCodedBody ? facts.plainRequestBody : body
            let type = attempt.fields.first("Content-Type")
            lines += self.body(shown, size: shown?.count ?? body.count, type: type, redaction)
        }
        return lines
    }

    private static func response(_ facts: ExchangeFacts, _ redaction: Redaction) -> [String] {
        guard let head = facts.head else { return ["[Response]: None"] }
        var lines = ["[Response]:", "    [Status Code]: \(head.status)"]
        lines += fields(head.fields, redaction)
        return lines + body(facts.body, size: facts.bodySize, type: head.fields.first("Content-Type"), redaction)
    }

    /// Sorted by name, each on its line.
    private static func fields(_ fields: HTTPFields, _ redaction: Redaction) -> [String] {
        if fields.list.isEmpty { return ["    [Headers]: None"] }
        let sorted = redaction.fields(fields).list.enumerated().sorted {
            ($0.element.name.lowercased(), $0.offset) < ($1.element.name.lowercased(), $1.offset)
        }
        return ["    [Headers]:"] + sorted.map { "        \($0.element.name): \($0.element.value)" }
    }

    private static func body(_ body: [UInt8]?, size: Int, type: String?, _ redaction: Redaction) -> [String] {
        if size == 0 { return ["    [Body]: None"] }
        guard let body, body.count == size, size <= longestBody, isText(type) else {
            return ["    [Body]: \(bytes(size))"]
        }
        let text = String(decoding: redaction.body(body, contentType: type), as: UTF8.self)
        // CR LF is a single character
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        return ["    [Body]:"] + lines.map { "        \($0)" }
    }

    private static func isText(_ type: String?) -> Bool {
        guard let type = type?.lowercased() else { return false }
        return ["json", "xml", "text", "x-www-form-urlencoded"].contains { type.contains($0) }
    }

    private static func bytes(_ count: Int) -> String { count == 1 ? "1 byte" : "\(count) bytes" }

    private static func result(_ facts: ExchangeFacts) -> String {
        if let failure = facts.failure { return "failure: \(failure.message)" }
        return facts.total == nil ? "none yet" : "success"
    }

    private static func timings(_ timeline: Timeline) -> String {
        let told = timeline.phases.compactMap { name, duration in
            duration.map {
                "\(name) \(seconds(Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18))"
            }
        }
        return (told + (timeline.reused ? ["connection reused"] : [])).joined(separator: ", ")
    }

    /// With six digits behind the point, and never with an exponent.
    private static func seconds(_ seconds: Double) -> String {
        guard let microseconds = Int64(exactly: (seconds * 1e6).rounded()), microseconds >= 0 else {
            return "\(seconds) s"
        }
        let fraction = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction) s"
    }
}
