// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The stubs of a session, and the requests that came.
package struct StubTable: Sendable {
    /// More stubs are refused, and older requests are forgotten.
    package static let most = 1000
    package static let mostRequests = 1000
    /// Bytes of all requests that are listed, and of the last requests of the stubs.
    package static let mostRequestBytes = 4 << 20

    /// The course of a request without a stub.
    package enum Unmatched: String, Sendable, CaseIterable { case fail, pass }

    package enum Verdict: Sendable {
        case reply(StubReply, stub: String)
        /// The request goes on, to the cassette or to the network.
        case pass
        case miss(HTTPFailure)
    }

    /// A stub and its counts.
    package struct Entry: Sendable {
        package let name: String
        package let rule: StubRule
        /// The number of its responses.
        package internal(set) var hits = 0
        /// The number of requests that fit.
        var seen = 0
        /// The last request with a response of this stub; nil also if it was forgotten.
        package internal(set) var last: Seen?

        fileprivate var lastTime: Int64 { last?.time ?? 0 }
    }

    /// A request that came.
    package struct Seen: Sendable {
        package var request: ReplayRequest
        /// The stub that responded; nil if none did.
        package var stub: String?
        /// Milliseconds since 1970.
        package var time: Int64

        fileprivate var bytes: Int {
            request.fields.list.reduce(request.url.utf8.count + request.body.count) {
                $0 + $1.name.utf8.count + $1.value.utf8.count
            }
        }
    }

    /// Bytes of the bodies of all stubs of a session.
    package static let mostBytes = 256 << 20

    /// Nil for the default of the stage: without a cassette, a failure.
    package var unmatched: Unmatched?
    package private(set) var entries: [Entry] = []
    package private(set) var requests: [Seen] = []
    private var requestBytes = 0
    /// Of the last requests of all stubs.
    private var lastBytes = 0
    private var made = 0
    /// Of the URLs of all stubs.
    private var patternBytes = 0
    /// The number of stubs that compare the body.
    private var bodies = 0

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The name of the new stub; nil if there are too many.
    package mutating func add(_ rule: StubRule) -> String? {
        guard entries.count < Self.most, entries.reduce(rule.bytes, { $0 + $1.rule.bytes }) <= Self.mostBytes else {
            return nil
        }
        made += 1
        let name = "stub_\(made)"
        entries.append(Entry(name: name, rule: rule))
        count()
        return name
    }

    /// Removes a stub, or with nil all stubs. Returns the number of removed stubs.
    package mutating func remove(_ name: String?) -> Int {
        let before = entries.count
        entries.removeAll { name == nil || $0.name == name }
        lastBytes = entries.reduce(0) { $0 + ($1.last?.bytes ?? 0) }
        count()
        return before - entries.count
    }

    private mutating func count() {
        patternBytes = entries.reduce(0) { $0 + $1.rule.url.text.utf8.count }
        bodies = entries.count { $0.rule.body != nil }
    }

    /// The memory of the requests, which the list and the stubs may have in common.
    package var heldBytes: Int { requestBytes + lastBytes }

    package mutating func forgetRequests() { (requests, requestBytes) = ([], 0) }

    private mutating func forgetRequests(_ count: Int) {
        requestBytes -= requests[..<count].reduce(0) { $0 + $1.bytes }
        requests.removeFirst(count)
    }

    package func contains(_ name: String) -> Bool { entries.contains { $0.name == name } }

    /// A stub as it is compared.
    package struct NamedRule: Sendable {
        let name: String
        let rule: StubRule
    }

    package var rules: [NamedRule] { entries.map { NamedRule(name: $0.name, rule: $0.rule) } }

    /// The number of bytes that are compared for a request, at most.
    package func work(for request: ReplayRequest) -> Int {
        let (url, isTooMuch) = patternBytes.multipliedReportingOverflow(by: request.url.utf8.count)
        // a body has at most 64 MiB, and a table at most 1,000 stubs
        return isTooMuch || url > Int.max / 2 ? Int.max / 2 : url + bodies * request.body.count
    }

    /// The names of the stubs that a request fits, whatever their counts are.
    package static func fitting(_ rules: [NamedRule], _ request: ReplayRequest) -> Set<String> {
        var subject = StubSubject(request)
        return Set(rules.filter { $0.rule.fits(&subject) }.map(\.name))
    }

    /// The verdict about a request. The stub that was added last wins.
    ///
    /// - Parameters:
    ///   - shown: the request without its secrets, to be listed.
    ///   - fitting: the names of the stubs that the request fits.
    ///   - rules: the stubs that were compared; a stub that was removed since responds all the same.
    ///   - passes: whether requests without a stub go on, if `unmatched` is nil.
    package mutating func take(
        _ shown: ReplayRequest, fitting: Set<String>, of rules: [NamedRule] = [], at time: Int64, passes: Bool
    ) -> Verdict {
        for index in entries.indices.reversed() where fitting.contains(entries[index].name) {
            let rule = entries[index].rule
            if let times = rule.times, entries[index].hits >= times { continue }
            if let after = rule.after, !entries.contains(where: { $0.name == after && $0.hits > 0 }) { continue }
            entries[index].seen += 1
            guard entries[index].seen % max(1, rule.every) == 0 else { continue }
            let reply = rule.replies[min(entries[index].hits, rule.replies.count - 1)]
            entries[index].hits += 1
            setLast(note(shown, by: entries[index].name, at: time), at: index)
            return .reply(reply, stub: entries[index].name)
        }
        if let removed = rules.last(where: { fitting.contains($0.name) && !contains($0.name) }),
            let reply = removed.rule.replies.first
        {
            note(shown, by: removed.name, at: time)
            return .reply(reply, stub: removed.name)
        }
        note(shown, by: nil, at: time)
        if unmatched == .pass || unmatched == nil && passes { return .pass }
        return .miss(miss(of: shown))
    }

    /// Notes the last request of a stub. The oldest ones of all stubs are forgotten if they are too long together.
    private mutating func setLast(_ seen: Seen, at index: Int) {
        lastBytes += seen.bytes - (entries[index].last?.bytes ?? 0)
        entries[index].last = seen
        while lastBytes > Self.mostRequestBytes {
            let times = entries.indices.filter { entries[$0].last != nil }
            guard let oldest = times.min(by: { entries[$0].lastTime < entries[$1].lastTime }) else { return }
            lastBytes -= entries[oldest].last?.bytes ?? 0
            entries[oldest].last = nil
        }
    }

    @discardableResult
    private mutating func note(_ request: ReplayRequest, by stub: String?, at time: Int64) -> Seen {
        if requests.count >= Self.mostRequests { forgetRequests(Self.mostRequests / 10) }
        var request = request
        // a list of requests stays short
        if request.body.count > Self.mostBody {
            // not within a character of UTF-8: text stays text
            var end = Self.mostBody
            while end > Self.mostBody - 4, request.body[end] & 0xC0 == 0x80 { end -= 1 }
            request.body = Array(request.body[..<end])
        }
        let seen = Seen(request: request, stub: stub, time: time)
        requests.append(seen)
        requestBytes += seen.bytes
        // a tenth at a time: few requests are moved often
        while requestBytes > Self.mostRequestBytes, requests.count > 1 { forgetRequests(max(1, requests.count / 10)) }
        return seen
    }

    private static let mostBody = 4 << 10

    private func miss(of request: ReplayRequest) -> HTTPFailure {
        let shown = entries.suffix(3).reversed().map { entry in
            "\(entry.name) (\(entry.rule.method.map { $0 + " " } ?? "")\(entry.rule.url.text)"
                + (entry.rule.times.map { entry.hits >= $0 ? ", used up" : "" } ?? "") + ")"
        }
        let list = shown.isEmpty ? "there are no stubs" : "the stubs are " + shown.joined(separator: ", ")
        let more = entries.count > 3 ? " and \(entries.count - 3) more" : ""
        return HTTPFailure(
            .stubMiss,
            "no stub is for \(request.title): \(list)\(more) (add one with stub.add, or let such requests pass with "
                + "unmatched \"pass\")", retryable: false)
    }
}
