// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

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
