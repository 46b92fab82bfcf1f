// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// Fetches OCSP responses and revocation lists over http, and keeps those that were verified until they are out of date.
///
/// Never through a proxy, without credentials and cookies, and without following redirects.
final class RevocationFetcher: Sendable {
    /// One lookup: its responder or list, and the body of the request, empty for a list.
    struct Query: Hashable, Sendable {
        var url: String
        var body: [UInt8] = []
        /// The fingerprint of the issuer by which a list was verified: another issuer does not vouch for the list.
        var issuer = ""
    }

    private struct Kept {
        var bytes: [UInt8]
        /// Seconds since 1970.
        var until: Int64
    }

    private struct State {
        var send: Send?
        var kept: [Query: Kept] = [:]
    }

    /// For all that is asked about one server, in seconds.
    static let patience = 5.0
    private static let mostBytes = 10 << 20
    private static let mostKeptBytes = 64 << 20
    private static let mostKept = 1000
    /// However long a list or response says that it counts, in seconds.
    private static let longest: Int64 = 7 * 86_400

    private let state = Mutex(State())

    typealias Send = @Sendable (Attempt) async throws(HTTPFailure) -> AttemptResponse

    /// By which requests are sent from now on.
    func use(_ send: @escaping Send) { state.withLock { $0.send = send } }

    /// What was kept; nil for nothing that is current.
    func known(_ query: Query, now: Int64) -> [UInt8]? {
        state.withLock { state in state.kept[query].flatMap { $0.until > now ? $0.bytes : nil } }
    }

    func keep(_ bytes: [UInt8], for query: Query, until: Int64, now: Int64) {
        state.withLock { state in
            let size = state.kept.values.reduce(bytes.count) { $0 &+ $1.bytes.count }
            if size > Self.mostKeptBytes || state.kept.count >= Self.mostKept {
                state.kept = state.kept.filter { $0.value.until > now }
                if state.kept.values.reduce(bytes.count, { $0 &+ $1.bytes.count }) > Self.mostKeptBytes
                    || state.kept.count >= Self.mostKept
                {
                    state.kept = [:]
                }
            }
            state.kept[query] = Kept(bytes: bytes, until: min(until, now &+ Self.longest))
        }
    }

    /// The body of a response with status 200. Throws why there is none.
    func fetch(
        _ query: Query, within seconds: Double, _ addresses: AddressPolicy, for client: ClientKey
    ) async throws(HTTPFailure) -> [UInt8] {
        guard let send = state.withLock({ $0.send }) else {
            throw HTTPFailure(.sessionInvalidated, "the service is stopping")
        }
        let url = try HTTPURL(parsing: query.url)
        guard url.scheme == .http, url.socketPath == nil else {
            throw HTTPFailure(.unsupportedScheme, "\(query.url) is no http URL")
        }
        var attempt = Attempt(method: "GET", url: url, fields: [])
        if !query.body.isEmpty {
            let fields: HTTPFields = [
                HTTPFields.Field("Content-Type", "application/ocsp-request"),
                HTTPFields.Field("Accept", "application/ocsp-response"),
            ]
            attempt = Attempt(method: "POST", url: url, fields: fields, body: .bytes(query.body))
        }
        attempt.timeouts.total = max(0.1, seconds)
        attempt.maximumBodyBytes = Self.mostBytes
        attempt.httpVersion = .http11
        attempt.decodesContent = false
        attempt.addresses = addresses.guarded
        attempt.client = client
        let response = try await send(attempt)
        guard response.status == 200 else {
            throw HTTPFailure(.malformedResponse, "\(url.host) responded with status \(response.status)")
        }
        var bytes: [UInt8] = []
        while let piece = try await response.body.next() {
            bytes += piece.readableBytesView
            if bytes.count > Self.mostBytes {
                throw HTTPFailure(.malformedResponse, "\(url.host) sent more than \(Self.mostBytes) bytes")
            }
        }
        return bytes
    }
}
