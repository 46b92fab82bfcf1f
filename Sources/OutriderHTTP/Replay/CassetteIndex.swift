// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An entry of a cassette that plays.
package final class IndexedEntry: Sendable {
    package let entry: CassetteEntry
    /// Nil if the script is made for each request: a WebSocket's, or one of a body with a file of its own.
    package let script: PreparedScript?
    /// Whether the response is at hand as a whole: a success without waits, trailers and a coding.
    let isReady: Bool

    package init(_ entry: CassetteEntry, _ timing: ReplayTiming) {
        self.entry = entry
        let isFixed = entry.bodyFile == nil && entry.messages == nil
        script = isFixed ? PreparedScript(AttemptScript(entry, body: entry.body, timing, key: nil)) : nil
        isReady = script?.value.isReady ?? false
    }
}

/// The entries of a cassette, found by the parts of a request that are compared.
package struct CassetteIndex: Sendable {
    package let matcher: RequestMatcher
    /// The path of the cassette, for messages.
    package let path: String
    package private(set) var entries: [IndexedEntry] = []
    /// Requests that are the same for the matcher have one number.
    private var numbers: [RequestMatcher.Key: Int] = [:]
    /// By that number: the places of its entries, in recorded order.
    private(set) var places: [[Int]] = []
    /// The same for requests without a body, a Range and a secret, by URL and method.
    private var simple: [String: [(method: String, number: Int)]] = [:]
    private let mask: CassetteMask
    private let timing: ReplayTiming
    /// Each key once, with its first entry.
    private var keys: [(key: RequestMatcher.Key, index: Int)] = []

    /// - Parameter mask: of requests that are compared.
    package init(
        _ matcher: RequestMatcher, path: String, mask: CassetteMask = CassetteMask(), timing: ReplayTiming = .none
    ) {
        self.matcher = matcher
        self.timing = timing
        self.mask = mask
        self.path = path
    }

    /// Adds an entry. The body of its request is not kept if it has a file of its own.
    package mutating func add(_ entry: CassetteEntry) {
        let key = matcher.key(of: entry.request)
        if let number = numbers[key] {
            places[number].append(entries.count)
        } else {
            numbers[key] = places.count
            places.append([entries.count])
            keys.append((key, entries.count))
        }
        note(entry.request, numbers[key])
        var kept = entry
        if entry.requestFile != nil { kept.request.body = [] }
        entries.append(IndexedEntry(kept, timing))
    }

    private mutating func note(_ request: ReplayRequest, _ number: Int?) {
        let (url, method) = (request.url, request.method)
        guard let number, matcher.isUsual, request.body.isEmpty, !request.fields.contains("Range"),
            mask.url(url) == url, simple[url]?.contains(where: { $0.method == method }) != true
        else { return }
        simple[url, default: []].append((method, number))
    }

    /// The number of a request without a body, a Range and a secret, as `number(of:)` has it for the key; nil if that is to
    /// be worked out.
    func number(ofSimple method: String, _ url: String) -> Int? {
        simple[url]?.first { $0.method == method }?.number
    }

    /// The number of a request; nil if there are no entries for it.
    func number(of key: RequestMatcher.Key) -> Int? { numbers[key] }

    // MARK: misses

    private static let mostCompared = 5000

    /// Why there is no response for a request, with the closest entries. It takes long with long bodies.
    func miss(_ request: ReplayRequest) -> HTTPFailure {
        let closest = closest(to: request).enumerated().map { place, index in
            let recorded = entries[index].entry.request
            let differences = matcher.differences(recorded, at: entries[index].entry.requestFile, request)
            return "\(place + 1). entry \(index + 1), \(recorded.title) (\(differences.joined(separator: "; ")))"
        }
        let list = closest.isEmpty ? "it has no entries" : "the closest are " + closest.joined(separator: ", ")
        return HTTPFailure(
            .replayMiss,
            "\(path) has no response for \(request.title): \(list). Record it with mode \"newEpisodes\", or change what is "
                + "compared with match and ignore", retryable: false)
    }

    /// Three entries by how little differs.
    private func closest(to request: ReplayRequest) -> [Int] {
        let wanted = matcher.key(of: request)
        let scored = keys.prefix(Self.mostCompared).map { key, index -> (index: Int, score: Int) in
            var score = 0
            if key.method != wanted.method { score += 4 }
            if key.origin != wanted.origin { score += 8 }
            if key.path != wanted.path { score += 6 + Self.distance(key.path, wanted.path) }
            if key.query != wanted.query { score += Set(key.query).symmetricDifference(wanted.query).count }
            score += zip(key.fields, wanted.fields).count { $0 != $1 }
            if key.body != wanted.body { score += 2 }
            return (index, score)
        }
        return scored.sorted { ($0.score, $0.index) < ($1.score, $1.index) }.prefix(3).map(\.index)
    }

    /// Segments that differ.
    private static func distance(_ one: String, _ two: String) -> Int {
        let (first, second) = (one.split(separator: "/"), two.split(separator: "/"))
        return abs(first.count - second.count) + zip(first, second).count { $0 != $1 }
    }
}
