// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Serialization with all options. Plain specs take the short path.
extension Serialization {
    /// - Parameters:
    ///   - failure: why the exchange failed, if so: only the choice between cases depends on the failure.
    package static func serialize(
        _ bytes: [UInt8], as spec: SerializeSpec, _ facts: ResponseFacts, failure: HTTPFailure? = nil
    ) -> SerializedBody {
        if spec.isPlain {
            return serialize(bytes, as: spec, contentType: facts.contentType, emptyIsFine: facts.hasNoBody)
        }
        let (spec, branch) = spec.chosen(facts, failure: failure, isEmpty: bytes.isEmpty)
        var body: SerializedBody
        if let value = branch?.value {
            body = SerializedBody(.json(value))
        } else {
            body = shaped(bytes, spec, facts)
        }
        body.branch = branch?.name
        return body
    }

    /// Serializes the bytes from the client's callback, in the shape of a spec without cases.
    package static func preprocessed(
        _ bytes: [UInt8], as spec: SerializeSpec, _ facts: ResponseFacts
    ) -> SerializedBody {
        read(bytes, spec, facts, isOriginal: false)
    }

    private static func shaped(_ bytes: [UInt8], _ spec: SerializeSpec, _ facts: ResponseFacts) -> SerializedBody {
        if bytes.isEmpty { return empty(spec, facts) }
        guard let preprocess = spec.extras?.preprocess else { return read(bytes, spec, facts, isOriginal: true) }
        return read(preprocess.apply(bytes), spec, facts, isOriginal: false)
    }

    private static func read(
        _ bytes: [UInt8], _ spec: SerializeSpec, _ facts: ResponseFacts, isOriginal: Bool
    ) -> SerializedBody {
        var spec = spec
        let schema = spec.extras?.schema
        if schema != nil, spec.shape == .auto { spec.shape = .json }
        var body: SerializedBody
        if bytes.isEmpty, spec.shape == .json || spec.shape == .propertyList {
            let isJSON = spec.shape == .json
            let note = "not \(isJSON ? "JSON" : "a property list"): nothing is left of it behind preprocess"
            let kind: HTTPFailure.Kind = isJSON ? .jsonSerializationFailed : .decodingFailed
            let failure = HTTPFailure(kind, "the body of the response is \(note)", sent: .sent)
            body = SerializedBody(.none, note: note, failure: failure)
        } else {
            body = serialize(bytes, as: spec, contentType: facts.contentType, emptyIsFine: true)
        }
        if !isOriginal, case .base64 = body.shape { body.shape = .data(bytes) }
        guard let schema, case .json(let text) = body.shape,
            let fault = SchemaCheck.fault(inJSON: text.bytes, schema)
        else { return body }
        body.failure = HTTPFailure(
            .decodingFailed, "Response body does not fit its schema: \(fault.message) (\(facts.shown))", sent: .sent,
            details: [.instancePointer(fault.pointer)])
        return body
    }

    /// Handles an empty body. Without a rule, only shapes with a value require a body.
    private static func empty(_ spec: SerializeSpec, _ facts: ResponseFacts) -> SerializedBody {
        let rule = spec.extras?.empty
        let schema = spec.extras?.schema
        if spec.shape == .none { return SerializedBody(.none) }
        if (rule ?? EmptyRule()).allows(facts) {
            guard let schema, !schema.faults(in: .null).isEmpty else { return SerializedBody(.none) }
            return SerializedBody(
                .none,
                failure: HTTPFailure(
                    .invalidEmptyResponse, "Response is empty, and its schema does not allow null (\(facts.shown))",
                    sent: .sent))
        }
        let needsValue = schema != nil || spec.shape == .json || spec.shape == .propertyList
        guard needsValue || rule != nil && spec.shape != .auto else { return SerializedBody(.none) }
        let status = facts.status.map { " with status \($0)" } ?? ""
        return SerializedBody(
            .none,
            failure: HTTPFailure(
                .inputDataNilOrZeroLength, "Response is empty\(status), and a value was asked for (\(facts.shown))",
                sent: .sent))
    }
}
