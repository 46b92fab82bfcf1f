// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A kind of event in the life of a request, which others may watch. `schema/topics.json` describes each.
///
/// In the order of a request's life; each has a bit of a `TopicSet`, which has room for 128.
package enum MonitorTopic: UInt8, Sendable, CaseIterable {
    case requestCreated, requestUnbuilt
    case uploadPrepared, uploadFailed, uploadOpened, uploadRepeated
    case requestResumed, requestSuspended, requestCancelled
    case requestAdapted, requestAdaptationFailed, requestQueued, requestPrepared
    case credentialUsed
    case attemptCreated, attemptFailedEarly, attemptResumed, attemptSuspended, attemptCancelled
    case attemptQueued, attemptConnecting, attemptConnected
    case attemptBodySent, attemptInformed, attemptAnswered, attemptReceived, attemptMeasured, attemptCompleted
    case challengeReceived, challengeAsked, credentialRefused, credentialAccepted
    case downloadOpened, downloadResumed, downloadRestarted, downloadVerified, downloadMoved, downloadKept
    case streamOpened, streamItem, streamPaused, streamResumed, streamEnded
    case requestRedirected, requestValidated, requestOffline, requestRetrying, requestFinished, requestParsed
    case requestDetached, requestAdopted, requestForgotten
    case responseStored, responseReleased
    case callbackAsked, callbackAnswered, callbackFailed
    case sessionCreated, sessionUpdated, sessionFlushed, sessionClosed
    case tokenRefreshing, tokenRefreshed, tokenFailed
    case cookiesRefused
    case cacheHit, cacheMiss, cacheRevalidated, cacheStored, cacheInvalidated, cacheEvicted

    /// As on the wire: `attemptBodySent` is `attempt.bodySent`.
    package var name: String { Self.names[Int(rawValue)] }

    private static let names = allCases.map { topic in
        let word = "\(topic)"
        let end = word.firstIndex { $0.isUppercase } ?? word.endIndex
        let rest = word[end...]
        return "\(word[..<end]).\(rest.prefix(1).lowercased())\(rest.dropFirst())"
    }

    fileprivate var bit: TopicSet { TopicSet(rawValue: 1 << UInt128(rawValue)) }

    /// The log level of a topic.
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info }

    /// `info`: an operator needs the event for every request. `debug`: the event helps to find a fault. `trace`: the
    /// event comes with every piece of a body, or repeats another event.
    package var level: Level {
        switch self {
        case .requestFinished, .requestRetrying, .callbackFailed, .sessionCreated, .sessionClosed, .tokenRefreshed,
            .tokenFailed:
            .info
        case .attemptResumed, .attemptSuspended, .attemptCancelled, .attemptBodySent, .attemptReceived,
            .attemptConnecting, .streamItem, .streamPaused, .streamResumed:
            .trace
        default: .debug
        }
    }
}

/// A set of topics. A check for the empty set costs a single load.
package struct TopicSet: OptionSet, Sendable, Hashable {
    package var rawValue: UInt128

    package init(rawValue: UInt128) { self.rawValue = rawValue }

    package init(_ topic: MonitorTopic) { self = topic.bit }

    package static let all = MonitorTopic.allCases.reduce(into: TopicSet()) { $0.formUnion($1.bit) }

    /// The topics logged at this level and above.
    package static func logged(from level: MonitorTopic.Level) -> TopicSet {
        let levels = MonitorTopic.Level.allCases.drop { $0 != level }
        return MonitorTopic.allCases.filter { levels.contains($0.level) }.reduce(into: []) { $0.formUnion($1.bit) }
    }

    package func contains(_ topic: MonitorTopic) -> Bool { rawValue & topic.bit.rawValue != 0 }

    /// In the order of a request's life.
    package var topics: [MonitorTopic] { MonitorTopic.allCases.filter { contains($0) } }
}
