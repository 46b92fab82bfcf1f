// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The Response of a request, made from its outcome.
extension RequestRecord {
    /// Longer bodies are converted and written away from the event loop.
    fileprivate static let longBody = 64 << 10

    /// The Response, if making it takes so little time that the event loop may do it; nil otherwise.
    func shapeOnLoop(
        _ outcome: ExchangeOutcome, engine: Engine, terms: PeerTerms, _ redaction: Redaction = .none, raw: Bool
    ) -> ResponseShape? {
        guard options == nil, serialize.isPlain, terms.maxMessageBytes == nil,
            outcome.bodyBytes <= Self.longBody || raw && serialize.shape == .base64
        else { return nil }
        if case .kept(let kept) = outcome.body, kept.isSpilt, !kept.isReleased { return nil }
        var shape = shape(outcome, converted(outcome, engine), redaction)
        if raw { shape.body.detach() }
        return shape
    }

    /// The body with the caller's options, and the failure of the request or else of the conversion. Takes time in
    /// proportion to a body in memory.
    private func converted(_ outcome: ExchangeOutcome, _ engine: Engine) -> (ResponseBodyShape, HTTPFailure?) {
        switch outcome.body {
        case .memory(let bytes, _):
            let made = review?.takeBody(outcome.failure)
            let (body, failure) = ResponseBodyShape.make(bytes, outcome, serialize, made)
            return (body, outcome.failure ?? failure)
        case .kept(let kept): return keptBody(kept, outcome, engine)
        case .none: return noBody(outcome)
        }
    }

    private func noBody(_ outcome: ExchangeOutcome) -> (ResponseBodyShape, HTTPFailure?) {
        (
            emptyBody(outcome),
            outcome.failure ?? ResponseBodyShape.emptyFailure(outcome, exchange.destination, serialize)
        )
    }

    private func emptyBody(_ outcome: ExchangeOutcome) -> ResponseBodyShape {
        var body = ResponseBodyShape.empty(outcome, isWanted: exchange.destination != .discard)
        if let stream = bodyStream.withLock({ $0 }), stream.hasBegun { body.content = .stream(stream.handle.name) }
        if exchange.isDownload, outcome.failure != nil, body.note != nil {
            body.note =
                outcome.resumeData == nil
                ? "the bytes that came were deleted" : "the bytes that came are in the partial file of the download"
        } else if exchange.destination == .file, outcome.failure != nil, body.note != nil {
            body.note = "the bytes that came could not be kept"
        }
        return body
    }

    /// The Response, however long making it takes.
    ///
    /// - Parameters:
    ///   - redaction: `masked` for a connection that did not give the request's secrets.
    ///   - raw: whether the bytes of a long body may follow the reply: only for the result of a call that takes them.
    func reply(
        _ outcome: ExchangeOutcome, engine: Engine, terms: PeerTerms, _ redaction: Redaction = .none, raw: Bool = false
    ) async -> ResponseReply {
        if let shape = shapeOnLoop(outcome, engine: engine, terms: terms, redaction, raw: raw) { return .shape(shape) }
        let outcome = await readBack(outcome)
        var shape =
            if options != nil || !serialize.isPlain {
                await concluded(outcome, engine: engine, redaction)
            } else {
                await plain(outcome, engine: engine, redaction)
            }
        if raw { shape.body.detach() }
        return await fitted(shape, engine: engine, terms: terms)
    }

    /// The Response of a request without handlers and callbacks.
    private func plain(_ outcome: ExchangeOutcome, engine: Engine, _ redaction: Redaction) async -> ResponseShape {
        guard case .memory(let bytes, _) = outcome.body, bytes.count > Self.longBody, serialize.shape != .base64 else {
            return shape(outcome, converted(outcome, engine), redaction)
        }
        return shape(outcome, await background { self.converted(outcome, engine) }, redaction)
    }

    /// With a body that was to be in the result in memory again, as soon as there is room; without room, it stays
    /// stored.
    private func readBack(_ outcome: ExchangeOutcome) async -> ExchangeOutcome {
        guard case .kept(let kept) = outcome.body, let (bytes, charge) = await kept.readBack() else { return outcome }
        var outcome = outcome
        outcome.body = .memory(bytes, charge)
        // further calls may ask for the body of a request of its own
        if isOfCall { kept.release() }
        return outcome
    }

    /// The same for requests with handlers or callbacks.
    private func concluded(_ outcome: ExchangeOutcome, engine: Engine, _ redaction: Redaction) async -> ResponseShape {
        let conclusion = await conclusion(outcome)
        var body: ResponseBodyShape
        var failure = conclusion.failure
        if let made = conclusion.body {
            body = made
        } else if case .kept(let kept) = outcome.body {
            (body, failure) = keptBody(kept, outcome, engine)
            failure = conclusion.failure ?? failure
        } else if case .memory(let bytes, _) = outcome.body {
            body = ResponseBodyShape.make(bytes, outcome, serialize).0
        } else {
            body = emptyBody(outcome)
        }
        var shape = shape(outcome, body, failure, redaction)
        shape.results = conclusion.results
        tellParsed(body, failure, of: outcome)
        for result in conclusion.results {
            exchange.tell(.requestParsed) {
                .parsed(result.body?.kind ?? "none", size: result.body?.size ?? 0, handler: result.id, result.failure)
            }
        }
        return shape
    }

    /// Tells monitors that the body was converted, or why not.
    private func tellParsed(_ body: ResponseBodyShape, _ failure: HTTPFailure?, of outcome: ExchangeOutcome) {
        if outcome.status == nil { return }
        exchange.tell(.requestParsed) {
            let isOfExchange = failure == outcome.failure && review?.isOfShape(failure) != true
            return .parsed(body.kind, size: body.size, handler: nil, isOfExchange ? nil : failure)
        }
    }

    /// The head alone, for replies that do not wait for the body: the present one, unless given.
    func headReply(of head: ExchangeOutcome? = nil, _ redaction: Redaction = .none) -> ResponseReply? {
        guard let outcome = head ?? exchange.headOutcome else { return nil }
        var body = ResponseBodyShape(content: .none, size: 0)
        if let stream = bodyStream.withLock({ $0 }) {
            body.content = .stream(stream.handle.name)
            body.contentType = outcome.head?.fields.first("Content-Type")
        }
        return .shape(shape(outcome, body, nil, redaction))
    }

    /// The Response with that body; tells monitors of the conversion.
    private func shape(
        _ outcome: ExchangeOutcome, _ converted: (body: ResponseBodyShape, failure: HTTPFailure?),
        _ redaction: Redaction
    ) -> ResponseShape {
        tellParsed(converted.body, converted.failure, of: outcome)
        return shape(outcome, converted.body, converted.failure, redaction)
    }

    private func shape(
        _ outcome: ExchangeOutcome, _ body: ResponseBodyShape, _ failure: HTTPFailure?, _ redaction: Redaction
    ) -> ResponseShape {
        ResponseShape(
            outcome: redaction.outcome(outcome), body: body, failure: failure, request: showsHandle ? handle.name : nil,
            tag: tag,
            showsMetrics: showsMetrics, showsCertificates: showsCertificates)
    }

    private func keptBody(
        _ kept: KeptBody, _ outcome: ExchangeOutcome, _ engine: Engine
    ) -> (ResponseBodyShape, HTTPFailure?) {
        var body = ResponseBodyShape(
            content: .none, size: kept.size, contentType: kept.contentType, isTruncated: outcome.isTruncated)
        if kept.isSpilt { body.note = "the memory of the service is full; read the body with response.read" }
        if kept.isReleased {
            body.note = "the body has been released"
            return (body, outcome.failure)
        }
        do throws(RPCError) {
            let name = try stored(kept, outcome, in: engine).handle.name
            if exchange.destination == .file, let path = kept.path {
                body.content = .file(name, path: path)
            } else {
                body.content = .stored(name)
            }
            return (body, outcome.failure)
        } catch {
            body.note = error.message
            return (body, outcome.failure ?? HTTPFailure(.limitExceeded, error.message, sent: .sent))
        }
    }

    /// Shortens a Response that is too long for a message: drops its inline body, and then its fields.
    private func fitted(_ shape: ResponseShape, engine: Engine, terms: PeerTerms) async -> ResponseReply {
        guard shape.takesLong || terms.maxMessageBytes != nil else { return .shape(shape) }
        let text = await Self.written(shape)
        guard let limit = terms.maxMessageBytes, let room = terms.maxResultBytes, text.size > room else {
            return .text(text)
        }
        var shape = shape
        if case .memory(let bytes, _) = shape.outcome.body {
            do throws(HTTPFailure) {
                let kept = try await engine.keep(
                    bytes, quota: exchange.quota, contentType: shape.body.contentType)
                if let kept {
                    let failure = shape.failure
                    (shape.body, shape.failure) = keptBody(kept, shape.outcome, engine)
                    shape.failure = failure ?? shape.failure
                }
                shape.body.note = "longer than maxMessageBytes allows; read it with response.read"
            } catch {
                shape.body.content = .none
                shape.failure = shape.failure ?? error
            }
        }
        if !shape.results.isEmpty, await Self.written(shape).size > room {
            let failure = HTTPFailure(
                .limitExceeded, "the results do not fit into maxMessageBytes, \(limit) bytes", sent: .sent)
            shape.results = shape.results.map { HandlerResult(id: $0.id, failure: $0.failure ?? failure) }
        }
        if await Self.written(shape).size > room {
            shape.showsHeaders = false
            shape.failure = HTTPFailure(
                .limitExceeded, "the headers do not fit into maxMessageBytes, \(limit) bytes", sent: .sent)
        }
        return .shape(shape)
    }

    private static func written(_ shape: ResponseShape) async -> JSONText {
        if !shape.takesLong || shape.raw != nil { return JSONText(of: shape) }
        return await background { JSONText(of: shape) }
    }
}

extension ResponseShape {
    /// Whether writing takes long: of the body, or of values that callbacks made.
    fileprivate var takesLong: Bool {
        body.size > RequestRecord.longBody || body.holder != nil || results.contains { $0.body?.holder != nil }
    }
}
