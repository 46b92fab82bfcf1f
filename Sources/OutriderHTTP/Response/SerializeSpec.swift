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

    var callsClient: Bool {
        callback != nil || preprocess?.callback != nil || cases.contains { $0.serialize.callsClient }
    }
}

extension SerializeSpec {
    /// Whether the client's callback takes part.
    package var callsClient: Bool { extras?.callsClient ?? false }
}

/// A branch of a choice between shapes: several models for an API, such as a user on success and a problem otherwise.
package struct BodyCase: Sendable {
    /// Returned with the body, so that the caller knows which branch matched.
    package var name: String?
    package var when: Condition
    package var serialize: SerializeSpec
    /// Returned in place of the body, for responses whose body is not needed.
    package var value: JSONText?

    package init(name: String? = nil, when: Condition, serialize: SerializeSpec, value: JSONText? = nil) {
        self.name = name
        self.when = when
        self.serialize = serialize
        self.value = value
    }

    /// The conditions of the branch; all that are set must hold.
    package struct Condition: Sendable {
        package var status: StatusRanges?
        package var contentType: [MediaType]?
        package var error: Errors?
        package var isEmpty: Bool?

        package init(
            status: StatusRanges? = nil, contentType: [MediaType]? = nil, error: Errors? = nil, isEmpty: Bool? = nil
        ) {
            self.status = status
            self.contentType = contentType
            self.error = error
            self.isEmpty = isEmpty
        }

        func holds(_ facts: ResponseFacts, _ failure: HTTPFailure?, isEmpty: Bool) -> Bool {
            if let status, facts.status.map(status.contains) != true { return false }
            if let contentType {
                guard let text = facts.contentType, let type = AcceptableTypes.type(text),
                    contentType.contains(where: { type.matches($0) })
                else { return false }
            }
            if let error, !error.holds(failure) { return false }
            return self.isEmpty.map { $0 == isEmpty } ?? true
        }
    }

    package enum Errors: Sendable {
        /// Some error, or with `false` none.
        case any(Bool)
        case kinds(Set<HTTPFailure.Kind>)

        func holds(_ failure: HTTPFailure?) -> Bool {
            switch self {
            case .any(let wanted): (failure != nil) == wanted
            case .kinds(let kinds): failure.map { kinds.contains($0.kind) } ?? false
            }
        }
    }
}

extension SerializeSpec {
    /// Selects a case for the response: returns a spec without cases, and its branch.
    package func chosen(
        _ facts: ResponseFacts, failure: HTTPFailure?, isEmpty: Bool
    ) -> (spec: SerializeSpec, branch: BodyCase?) {
        guard let cases = extras?.cases, !cases.isEmpty else { return (self, nil) }
        for branch in cases where branch.when.holds(facts, failure, isEmpty: isEmpty) {
            return (branch.serialize, branch)
        }
        return (self, nil)
    }
}
