// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether and how the body of a request is compressed.
package struct RequestCompression: Sendable, Equatable {
    /// How to treat a request that already has a Content-Encoding.
    package enum Duplicate: String, Sendable, CaseIterable {
        /// The request fails with `requestAdaptationFailed`.
        case error
        /// The field is replaced, and the body compressed.
        case replace
        /// Leave the request unchanged.
        case skip
    }

    package var coding: BodyCoding
    package var duplicate: Duplicate
    /// A shorter body is not compressed. Default: 0.
    package var minimumBytes: Int64

    package init(_ coding: BodyCoding, duplicate: Duplicate = .error, minimumBytes: Int64 = 0) {
        self.coding = coding
        self.duplicate = duplicate
        self.minimumBytes = minimumBytes
    }

    /// Decides whether to compress a request with these fields and this body, and sets its fields accordingly.
    package func begin(_ fields: inout HTTPFields, _ body: AttemptBody) throws(HTTPFailure) -> Bool {
        if case .none = body { return false }
        if let size = body.size, size < minimumBytes { return false }
        if fields.contains("Content-Encoding") {
            switch duplicate {
            case .error:
                throw HTTPFailure(
                    .requestAdaptationFailed,
                    "the request has a Content-Encoding already: leave out compress, or set its duplicate to \"replace\" or \"skip\"",
                    pointer: "/compress")
            case .skip: return false
            case .replace: fields.list.removeAll { HTTPFields.same($0.name, "Content-Encoding") }
            }
        }
        fields.add("Content-Encoding", coding.rawValue)
        return true
    }
}
