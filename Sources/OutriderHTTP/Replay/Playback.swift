// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the recorded response of each request: identical requests play in the order in which they were recorded.
package struct Playback: Sendable {
    /// What becomes of a request whose entries have all been played.
    package enum Repeat: String, Sendable, CaseIterable { case fail, last, cycle }

    package enum Step: Sendable {
        case play(CassetteEntry)
        case miss(HTTPFailure)
    }

    private let entries: [CassetteEntry]
    private let matcher: RequestMatcher
    private let afterLast: Repeat
    private let path: String
    private var places: [RequestMatcher.Key: [Int]] = [:]
    private var next: [RequestMatcher.Key: Int] = [:]
    private var isPlayed: [Bool]

    package init(_ entries: [CassetteEntry], _ matcher: RequestMatcher, _ afterLast: Repeat, path: String) {
        self.entries = entries
        self.matcher = matcher
        self.afterLast = afterLast
        self.path = path
        isPlayed = Array(repeating: false, count: entries.count)
        for (index, entry) in entries.enumerated() { places[matcher.key(of: entry.request), default: []].append(index) }
    }

    package var count: Int { entries.count }

    /// Method and URL of entries that were not played, at most so many.
    package func unused(most: Int) -> [String] {
        var list: [String] = []
        for (index, entry) in entries.enumerated() where !isPlayed[index] && list.count < most {
            list.append("\(entry.request.method) \(entry.request.url)")
        }
        return list
    }

    /// Whether a response is left for the request.
    package func has(_ request: ReplayRequest) -> Bool {
        let key = matcher.key(of: request)
        return afterLast != .fail ? places[key] != nil : (next[key] ?? 0) < (places[key]?.count ?? 0)
    }

    /// - Parameter request: without its secrets.
    package mutating func take(_ request: ReplayRequest) -> Step {
        let key = matcher.key(of: request)
        guard let list = places[key] else { return .miss(miss(request)) }
        let position = next[key] ?? 0
        guard position < list.count || afterLast != .fail else {
            let times = list.count == 1 ? "once" : "\(list.count) times"
            return .miss(
                HTTPFailure(
                    .replayMiss,
                    "\(path) has \(request.title) \(times), and it was played as often: record it anew, or set repeat to "
                        + "\"last\" or \"cycle\"", retryable: false))
        }
        let index = afterLast == .cycle ? list[position % list.count] : list[min(position, list.count - 1)]
        next[key] = position + 1
        isPlayed[index] = true
        return .play(entries[index])
    }

    // MARK: misses

    private static let mostCompared = 5000

    private func miss(_ request: ReplayRequest) -> HTTPFailure {
        let closest = closest(to: request).prefix(3).enumerated().map { place, index in
            let recorded = entries[index].request
            let differences = matcher.differences(recorded, request).joined(separator: "; ")
            return "\(place + 1). entry \(index + 1), \(recorded.title) (\(differences))"
        }
        let list = closest.isEmpty ? "it has no entries" : "the closest are " + closest.joined(separator: ", ")
        return HTTPFailure(
            .replayMiss,
            "\(path) has no response for \(request.title): \(list). Record it with mode \"newEpisodes\", or change what is "
                + "compared with match and ignore", retryable: false)
    }

    /// The entries by how little differs.
    private func closest(to request: ReplayRequest) -> [Int] {
        let wanted = matcher.key(of: request)
        var seen: Set<RequestMatcher.Key> = []
        let scored = entries.indices.prefix(Self.mostCompared).compactMap { index -> (index: Int, score: Int)? in
            let key = matcher.key(of: entries[index].request)
            guard seen.insert(key).inserted else { return nil }
            var score = 0
            if key.method != wanted.method { score += 4 }
            if key.origin != wanted.origin { score += 8 }
            if key.path != wanted.path { score += 6 + Self.distance(key.path, wanted.path) }
            score += Set(key.query).symmetricDifference(wanted.query).count
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
