// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The work that a document may cause: values, bytes of text made from the document, and time.
///
/// References, aliases and shared parts let a short document describe a large one, so the result is counted as well as
/// the document. The caller passes the clock: the spending code has none.
package struct WorkBudget: Sendable {
    /// Remaining values of the result.
    private var values: Int
    /// Remaining bytes of text of the result.
    private var bytes: Int
    private let isLate: (@Sendable () -> Bool)?
    private var untilLook = 0
    /// Why the budget is used up. Once set, every `spend` throws this complaint again.
    package private(set) var complaint: JSONComplaint?

    private static let spendsPerLook = 64

    /// - Parameters:
    ///   - values: default 1,000,000, enough for the largest public APIs.
    ///   - bytes: default 64 MiB.
    ///   - isLate: whether the time is over; nil for no limit. Called once per 64 spends.
    package init(values: Int = 1_000_000, bytes: Int = 64 << 20, isLate: (@Sendable () -> Bool)? = nil) {
        self.values = values
        self.bytes = bytes
        self.isLate = isLate
    }

    /// Takes values and bytes off the budget. Throws if the budget is used up, or the time is over.
    package mutating func spend(values: Int = 1, bytes: Int = 0) throws(JSONComplaint) {
        if let complaint { throw complaint }
        self.values = self.values.subtractingReportingOverflow(values).partialValue
        self.bytes = self.bytes.subtractingReportingOverflow(bytes).partialValue
        if self.values < 0 { throw used("it has too many parts, those that references repeat included") }
        if self.bytes < 0 { throw used("its names and texts become too long where they are put together") }
        untilLook -= 1
        if untilLook < 0 { try look() }
    }

    /// Checks the clock now, before a long step.
    package mutating func look() throws(JSONComplaint) {
        if let complaint { throw complaint }
        untilLook = Self.spendsPerLook
        if isLate?() == true { throw used("reading it takes too long") }
    }

    private mutating func used(_ why: String) -> JSONComplaint {
        let complaint = JSONComplaint("the document is refused: \(why) (make it smaller)")
        self.complaint = complaint
        return complaint
    }
}
