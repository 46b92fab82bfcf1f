// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// Bodies in memory, converted into the requested shape.
extension ResponseBodyShape {
    /// - Parameter made: the body, if converted already.
    static func make(
        _ bytes: [UInt8], _ outcome: ExchangeOutcome, _ spec: SerializeSpec, _ made: SerializedBody? = nil
    ) -> (ResponseBodyShape, HTTPFailure?) {
        let head = outcome.head
        let contentType = head?.fields.first("Content-Type")
        let serialized =
            made
            ?? Serialization.serialize(
                bytes, as: spec, contentType: contentType, emptyIsFine: bytes.isEmpty && isEmptyFine(outcome),
                check: head?.cache?.check)
        let body = ResponseBodyShape(
            content: Content(serialized.shape, bytes), size: outcome.bodyBytes, contentType: contentType,
            isTruncated: outcome.isTruncated, note: serialized.note)
        return (body, serialized.failure)
    }

    /// A body with its branch, from `ResponseWork`.
    init(_ serialized: SerializedBody, _ bytes: [UInt8], _ facts: ResponseFacts) {
        self.init(
            content: Content(serialized.shape, bytes), size: bytes.count, contentType: facts.contentType,
            note: serialized.note, branch: serialized.branch, holder: serialized.holder)
    }

    /// No bytes here: none came, none were requested, or they went to the call that asked for them.
    static func empty(_ outcome: ExchangeOutcome, isWanted: Bool) -> ResponseBodyShape {
        var body = ResponseBodyShape(content: .none, size: outcome.bodyBytes)
        guard let head = outcome.head else { return body }
        body.contentType = head.fields.first("Content-Type")
        body.isTruncated = outcome.isTruncated
        if isWanted, outcome.bodyBytes > 0 { body.note = "the body went to the call that asked for it" }
        return body
    }

    /// Why an empty body is a failure, if the request insists on a shape.
    static func emptyFailure(
        _ outcome: ExchangeOutcome, _ destination: BodyDestination, _ spec: SerializeSpec
    ) -> HTTPFailure? {
        guard destination == .inline, outcome.status != nil, outcome.bodyBytes == 0 else { return nil }
        return Serialization.serialize([], as: spec, contentType: nil, emptyIsFine: isEmptyFine(outcome)).failure
    }

    private static func isEmptyFine(_ outcome: ExchangeOutcome) -> Bool {
        outcome.method == "HEAD" || outcome.status.map { $0 == 204 || $0 == 205 || $0 == 304 } ?? false
    }
}

extension ResponseBodyShape.Content {
    init(_ shape: SerializedBody.Shape, _ bytes: [UInt8]) {
        switch shape {
        case .none: self = .none
        case .json(let text): self = .json(text)
        case .text(let text, let charset): self = .text(text, charset: charset)
        case .base64: self = .base64(bytes)
        case .data(let changed): self = .base64(changed)
        }
    }
}
