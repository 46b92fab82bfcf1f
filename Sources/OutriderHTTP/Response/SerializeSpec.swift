// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The requested shape of a response body.
package struct SerializeSpec: Sendable {
    package enum Shape: String, Sendable, CaseIterable {
        case auto, json, text, base64, propertyList, none
    }

    package var shape: Shape
    /// The charset of text, regardless of the Content-Type.
    package var encoding: String?
    /// Behind a reference: most requests have no extras.
    private var box: Box?

    package init(_ shape: Shape = .auto, encoding: String? = nil) {
        self.shape = shape
        self.encoding = encoding
    }

    /// The rare options; nil if none is set.
    package var extras: SerializeExtras? {
        get { box?.extras }
        set { box = newValue.map(Box.init) }
    }

    /// Whether no options beyond the shape are set.
    package var isPlain: Bool { box == nil }

    /// Whether a body without that shape is a failure.
    package var insists: Bool {
        if let extras, extras.schema != nil || extras.callback != nil || !extras.cases.isEmpty { return true }
        return shape == .json || shape == .text || shape == .propertyList || box?.extras.empty != nil
    }

    private final class Box: Sendable {
        let extras: SerializeExtras

        init(_ extras: SerializeExtras) { self.extras = extras }
    }
}

/// Rare options for the shape of a response.
package struct SerializeExtras: Sendable {
    /// The charset of text if neither the caller nor the response names a known charset. Nil for UTF-8.
    package var fallback: String?
    /// When an empty body is accepted. Nil for the default rule, by which an empty text is a text.
    package var empty: EmptyRule?
    package var preprocess: Preprocess?
    /// The schema for the value of JSON and property lists.
    package var schema: JSONSchema?
    /// The client's own serializer, called for every outcome.
    package var callback: CallbackSpec?
    /// Serialize the body even if the exchange failed, as a handler's result.
    package var ignoresError = false
    /// The first case whose condition holds replaces the other members.
    package var cases: [BodyCase] = []

    package init() {}

    var asksClient: Bool {
        callback != nil || preprocess?.callback != nil || cases.contains { $0.serialize.asksClient }
    }
}

extension SerializeSpec {
    /// Whether the client's callback takes part.
    package var asksClient: Bool { extras?.asksClient ?? false }
}

/// When an empty body is not a failure.
package struct EmptyRule: Sendable {
    package var status: StatusRanges
    package var methods: [String]

    package init(status: StatusRanges? = nil, methods: [String]? = nil) {
        self.status = status ?? StatusRanges([204...205])
        self.methods = methods ?? ["HEAD"]
    }

    /// 304 never has a body (RFC 9110 section 15.4.5), so no rule can require a body.
    func allows(_ facts: ResponseFacts) -> Bool {
        methods.contains(facts.method) || facts.status.map { $0 == 304 || status.contains($0) } ?? false
    }
}

/// A transformation of the body's bytes before parsing. An empty body is not transformed.
package enum Preprocess: Sendable {
    /// Drops so many bytes from the start.
    case dropFirst(Int)
    /// Drops these bytes from the start, if present.
    case dropPrefix([UInt8])
    /// The client's callback transforms the bytes.
    case callback(CallbackSpec)

    /// The prefix with which some servers prevent other sites from reading their JSON.
    package static let googleXSSI = Preprocess.dropPrefix(Array(")]}',\n".utf8))

    package var callback: CallbackSpec? {
        if case .callback(let callback) = self { callback } else { nil }
    }

    func apply(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .dropFirst(let count): Array(bytes.dropFirst(max(0, count)))
        case .dropPrefix(let prefix): bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : bytes
        case .callback: bytes
        }
    }
}
