// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// Totals of all ended requests since the start of the service.
package struct EngineStatistics: Sendable {
    /// The timed parts of a request, in order.
    package enum Part: Int, Sendable, CaseIterable {
        case queue, dns, connect, proxy, tls, request, firstByte, response
    }

    /// The connection of a request: opened, reused, or none.
    package enum Carrier: Int, Sendable, CaseIterable { case opened, reused, none }

    /// Seconds, for each part; requests without the part do not count.
    package fileprivate(set) var parts = Part.allCases.map { _ in Histogram.seconds }
    /// Seconds from start to end.
    package fileprivate(set) var total = Histogram.seconds
    package fileprivate(set) var attempts = 0
    package fileprivate(set) var redirects = 0
    /// Requests by carrier.
    package fileprivate(set) var carriers = Carrier.allCases.map { _ in 0 }
    /// Requests that ended with a response, by the first digit of the status.
    package fileprivate(set) var responses = [Int](repeating: 0, count: 10)
    package fileprivate(set) var failures: [HTTPFailure.Kind: Int] = [:]
    /// Of bodies, decoded.
    package fileprivate(set) var bodyBytes = 0

    package subscript(part: Part) -> Histogram { parts[part.rawValue] }
    package subscript(carrier: Carrier) -> Int { carriers[carrier.rawValue] }
}

/// Counts requests as they end, once each, under one short lock.
final class ExchangeTally: Sendable {
    private let statistics = Mutex(EngineStatistics())

    var now: EngineStatistics { statistics.withLock { $0 } }

    /// Counts an attempt that belongs to no request, as the revalidation of a stored response in the background.
    func count(_ timeline: Timeline) {
        statistics.withLock { statistics in
            statistics.attempts &+= 1
            statistics.bodyBytes &+= Int(clamping: timeline.bodyBytes)
            statistics.count(timeline)
        }
    }

    func count(_ outcome: ExchangeOutcome) {
        statistics.withLock { statistics in
            statistics.total.observe(outcome.total)
            statistics.attempts &+= outcome.attempts
            statistics.redirects &+= outcome.redirects.count
            statistics.bodyBytes &+= outcome.bodyBytes
            if let status = outcome.status, statistics.responses.indices.contains(status / 100) {
                statistics.responses[status / 100] &+= 1
            }
            if let failure = outcome.failure { statistics.failures[failure.kind, default: 0] &+= 1 }
            for timeline in outcome.timelines { statistics.count(timeline) }
        }
    }
}

extension EngineStatistics {
    fileprivate mutating func count(_ timeline: Timeline) {
        let carrier: Carrier = timeline.reused ? .reused : timeline.remote == nil ? .none : .opened
        carriers[carrier.rawValue] &+= 1
        observe(timeline.queue, .queue)
        observe(timeline.resolve, .dns)
        observe(timeline.connect, .connect)
        observe(timeline.proxy, .proxy)
        observe(timeline.tls, .tls)
        observe(timeline.request, .request)
        observe(timeline.firstByte, .firstByte)
        observe(timeline.response, .response)
    }

    private mutating func observe(_ duration: Duration?, _ part: Part) {
        if let duration { parts[part.rawValue].observe(duration.seconds) }
    }
}
