// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds the recorded response of each request: identical requests play in the order in which they were recorded.
package struct Playback: Sendable {
    /// What becomes of a request whose entries have all been played.
    package enum Repeat: String, Sendable, CaseIterable { case fail, last, cycle }

    package enum Step: Sendable {
        case play(IndexedEntry, Turn)
        case miss(Miss)
    }

    /// The use of an entry for one request.
    package struct Turn: Sendable {
        fileprivate let number: Int
        fileprivate let position: Int
    }

    /// A request without a response.
    package struct Miss: Sendable {
        fileprivate let index: CassetteIndex
        fileprivate let request: ReplayRequest
        /// How often the request was played; nil if it is not in the cassette.
        fileprivate let times: Int?

        /// Takes long with many entries, or long bodies.
        package var failure: HTTPFailure {
            guard let times else { return index.miss(request) }
            let often = times == 1 ? "once" : "\(times) times"
            return HTTPFailure(
                .replayMiss,
                "\(index.path) has \(request.title) \(often), and it was played as often: record it anew, or set repeat to "
                    + "\"last\" or \"cycle\"", retryable: false)
        }
    }

    private let index: CassetteIndex
    private let afterLast: Repeat
    /// By the number of a request: how often it was played.
    private var next: [Int]
    /// Turns that were taken, and not used: they come first.
    private var returned: [Int: [Int]] = [:]
    private var isPlayed: [Bool]

    package init(_ index: CassetteIndex, _ afterLast: Repeat) {
        self.index = index
        self.afterLast = afterLast
        next = Array(repeating: 0, count: index.places.count)
        isPlayed = Array(repeating: false, count: index.entries.count)
    }

    package var count: Int { index.entries.count }

    /// Method and URL of entries that were not played, at most so many.
    package func unused(most: Int) -> [String] {
        var list: [String] = []
        for (place, entry) in index.entries.enumerated() where !isPlayed[place] && list.count < most {
            list.append("\(entry.entry.request.method) \(entry.entry.request.url)")
        }
        return list
    }

    /// Whether a response is left for the request with that key.
    package func has(_ key: RequestMatcher.Key) -> Bool {
        guard let number = index.number(of: key) else { return false }
        return afterLast != .fail || next[number] < index.places[number].count || returned[number] != nil
    }

    /// - Parameter request: the request of the key, without its secrets.
    package mutating func take(_ key: RequestMatcher.Key, _ request: ReplayRequest) -> Step {
        guard let number = index.number(of: key) else {
            return .miss(Miss(index: index, request: request, times: nil))
        }
        return take(number) ?? .miss(Miss(index: index, request: request, times: index.places[number].count))
    }

    /// The step of a request without a body, a Range and a secret; nil if it is to be worked out from the key.
    package mutating func takeSimple(_ method: String, _ url: String) -> Step? {
        index.number(ofSimple: method, url).flatMap { take($0) }
    }

    /// The same for an entry that is at hand, with a body of at most so many bytes.
    package mutating func takeReady(_ method: String, _ url: String, _ most: Int) -> PreparedScript? {
        guard let number = index.number(ofSimple: method, url), let position = upcoming(number) else { return nil }
        let entry = index.entries[place(of: position, in: index.places[number])]
        guard entry.isReady, entry.entry.body.count <= most, take(number) != nil else { return nil }
        return entry.script
    }

    /// The next entry of a request; nil if all were played.
    private mutating func take(_ number: Int) -> Step? {
        guard let position = upcoming(number) else { return nil }
        drop(position, number)
        let list = index.places[number]
        next[number] = max(next[number], position + 1)
        let place = place(of: position, in: list)
        isPlayed[place] = true
        return .play(index.entries[place], Turn(number: number, position: position))
    }

    /// The entry was not used: the next request of the same kind gets it.
    package mutating func giveBack(_ turn: Turn) {
        returned[turn.number, default: []].append(turn.position)
        let list = index.places[turn.number]
        if turn.position < list.count { isPlayed[place(of: turn.position, in: list)] = false }
    }

    /// The position of the next entry of a request; nil if all were played.
    private func upcoming(_ number: Int) -> Int? {
        let position = (returned.isEmpty ? nil : returned[number]?.min()) ?? next[number]
        return position < index.places[number].count || afterLast != .fail ? position : nil
    }

    /// The position is no longer among those that were given back.
    private mutating func drop(_ position: Int, _ number: Int) {
        guard !returned.isEmpty, var list = returned[number] else { return }
        list.removeAll { $0 == position }
        returned[number] = list.isEmpty ? nil : list
    }

    private func place(of position: Int, in list: [Int]) -> Int {
        afterLast == .cycle ? list[position % list.count] : list[min(position, list.count - 1)]
    }
}
