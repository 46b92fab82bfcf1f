// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Requests that are refused, and requests whose responses are not stored.
extension CachedAttempt {
    /// Nothing is sent.
    func refuse(_ reason: String, isDirective: Bool = false) {
        stop(
            HTTPFailure(
                .notCached,
                "\(attempt.url.origin): no stored response may be used (\(reason)); send the request without"
                    + " onlyIfCached (in a shell, --offline) to ask the server",
                details: isDirective ? [.status(504)] : []))
    }

    static func tooLong(_ most: Int, _ host: String) -> HTTPFailure {
        HTTPFailure(bodyFrom: host, isLongerThan: most)
    }

    // MARK: stored responses

    /// Delivers a response whose body is a file, or asks the server: another service may have removed the entry since the
    /// lookup.
    func open(_ file: CachedFile, _ deliver: @escaping @Sendable (Source) -> Void) {
        file.open { isThere in
            if case .over = self.source { return }
            if isThere { return deliver(.file(file)) }
            let reason = "the stored body is gone"
            if self.binding.spec.mode == .onlyIfCached || self.query.control.onlyIfCached { return self.refuse(reason) }
            self.ask(nil, [], .uriMiss, reason)
        }
    }

    /// An attempt of its own, of which nothing is stored.
    func askDirectly(_ entry: CachedEntry?, _ forward: CacheForward, _ reason: String) {
        let inner = transport.make(attempt, observer: observer)
        source = .inner(inner)
        let requestedAt = CacheClock.now
        inner.start { result in
            self.disarm()
            guard case .success(var response) = result else { return self.rescue(entry, forward, result) }
            if let entry, CachePolicy.rescues(self.query, entry.head, status: response.status, now: CacheClock.now),
                self.query.bypass == nil, self.query.range == nil
            {
                CacheFlight.discard(response, of: inner)
                return self.serve(
                    entry, .init(isStale: true, "stale-if-error: status \(response.status)"), as: .stale, forward,
                    inPlaceOf: response)
            }
            self.learn(from: response, requestedAt)
            response.cache = CacheReport(
                self.query.bypass == nil ? .miss : .bypass, forward: forward, reason: reason, key: self.place.url,
                upstream: CacheStatus.parse(response.fields))
            self.finish(.success(response))
        }
    }

    private func rescue(
        _ entry: CachedEntry?, _ forward: CacheForward, _ result: Result<AttemptResponse, HTTPFailure>
    ) {
        if case .failure(let failure) = result, let entry, query.bypass == nil, query.range == nil,
            failure.kind.isOfNetwork, CachePolicy.rescues(query, entry.head, status: nil, now: CacheClock.now)
        {
            return serve(entry, .init(isStale: true, "stale-if-error: \(failure.message)"), as: .stale, forward)
        }
        finish(result)
    }
}
