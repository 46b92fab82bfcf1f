// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

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
