// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Fetches the documents of authorization servers: their metadata, which are cached for a day, and their keys.
///
/// The requests obey a stage: they are entries of a cassette that records, and a cassette that plays has the responses.
package final class ServerDocuments: Sendable {
    private let engine: Engine
    /// Found without a stage.
    private let known = MetadataMemory()

    /// Seconds per document.
    private static let patience = 3.0
    private static let mostRedirects = 3

    package init(_ engine: Engine) { self.engine = engine }

    /// The metadata of an issuer.
    ///
    /// - Parameters:
    ///   - fresh: fetch again, ignoring the cache.
    ///   - stage: stands before the network; nil for none.
    package func metadata(
        of issuer: String, fresh: Bool = false, through stage: ReplayStage?
    ) async throws(OAuthFailure) -> PublishedMetadata {
        let memory = stage?.metadata ?? known
        if !fresh, let found = memory.metadata(of: issuer) { return found }
        var complaints: [String] = []
        // another issuer on the same host may have a document, too
        var refusal: OAuthFailure?
        for place in try ServerMetadata.places(of: issuer) {
            do throws(OAuthFailure) {
                switch try await fetch(place, stage) {
                case .document(let bytes) where ServerMetadata.isForeign(bytes):
                    complaints.append("\(place): no issuer in its JSON")
                case .document(let bytes):
                    let found = PublishedMetadata(metadata: try ServerMetadata(bytes, issuer: issuer), place: place)
                    memory.remember(found)
                    return found
                case .nothing(let why): complaints.append("\(place): \(why)")
                }
            } catch {
                guard error.reason == "issuer_mismatch" || refusal != nil else { throw error }
                refusal = refusal ?? error
            }
        }
        if let refusal { throw refusal }
        throw OAuthFailure(
            .config, "no_metadata",
            "\(FieldRules.shown(issuer)) publishes no metadata (\(complaints.joined(separator: "; "))): name its tokenUrl"
        )
    }

    /// The metadata of a protected resource.
    package func resource(
        _ resource: String, through stage: ReplayStage?
    ) async throws(OAuthFailure) -> ResourceMetadata {
        let place = try ResourceMetadata.place(of: resource)
        switch try await fetch(place, stage) {
        case .document(let bytes): return try ResourceMetadata(bytes, resource: resource)
        case .nothing(let why):
            throw OAuthFailure(
                .config, "no_metadata",
                "\(FieldRules.shown(resource)) publishes no metadata (\(place): \(why)): name its issuer")
        }
    }

    /// A JWK Set, unparsed.
    package func keys(at place: HTTPURL, through stage: ReplayStage?) async throws(OAuthFailure) -> String {
        switch try await fetch(place, stage) {
        case .document(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .nothing(let why):
            throw OAuthFailure(.config, "no_keys", "the server's keys are not at \(place): \(why)")
        }
    }

    // MARK: network

    private enum Outcome {
        case document([UInt8])
        /// The server responded, but not with a document.
        case nothing(String)
    }

    /// Follows redirects within the origin only: a client that names a server trusts only that server.
    private func fetch(_ place: HTTPURL, _ stage: ReplayStage?) async throws(OAuthFailure) -> Outcome {
        var url = place
        for _ in 0...Self.mostRedirects {
            let outcome = try await get(url, stage)
            guard let head = outcome.head else { throw Self.unreachable(url, outcome.failure) }
            if RedirectPolicy.redirects(head.status), let location = head.fields.first("Location") {
                guard let next = try? url.resolve(reference: location), next.isSameOrigin(as: url) else {
                    return .nothing("it redirects to another origin")
                }
                url = next
                continue
            }
            guard head.status == 200 else { return .nothing("status \(head.status)") }
            if let failure = outcome.failure { throw Self.unreachable(url, failure) }
            guard case .memory(let body, _) = outcome.body else { return .nothing("no JSON") }
            // RFC 8259 section 8.1: a byte order mark may be ignored
            let bytes = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : body
            return Self.isObject(bytes) ? .document(bytes) : .nothing("no JSON")
        }
        return .nothing("too many redirects")
    }

    /// Whether the bytes are a JSON object, and not an HTML page in its place.
    private static func isObject(_ bytes: [UInt8]) -> Bool {
        bytes.first { $0 != 0x20 && !(0x09...0x0D).contains($0) } == UInt8(ascii: "{")
    }

    private func get(_ url: HTTPURL, _ stage: ReplayStage?) async throws(OAuthFailure) -> ExchangeOutcome {
        var spec = RequestSpec(url: url.description)
        spec.fields.add("Accept", "application/json")
        spec.timeouts.total = Self.patience
        spec.options = ResponseOptions(maxBody: ServerMetadata.longest)
        spec.plan.redirect = .none
        // http is for this machine alone: a proxy could change the document, and so the receiver of secrets
        spec.proxies = url.isSecure ? engine.settings.proxies : nil
        spec.security = engine.settings.security
        let exchange = await engine.exchange(
            spec, ExchangeSetup(quota: engine.makeQuota(), keepsBody: false, stage: stage))
        exchange.start()
        await withTaskCancellationHandler {
            _ = await exchange.reached(.finish)
        } onCancel: {
            exchange.cancel()
        }
        guard let outcome = exchange.takeOutcome() else { throw Self.unreachable(url, nil) }
        return outcome
    }

    private static func unreachable(_ url: HTTPURL, _ failure: HTTPFailure?) -> OAuthFailure {
        if let failure, [.replayMiss, .stubMiss].contains(failure.kind) {
            return OAuthFailure(.config, "not_played", failure.message)
        }
        return OAuthFailure(
            .temporary, "unreachable",
            "\(url.origin) did not respond: \(failure?.message ?? "the request was cancelled")")
    }
}
