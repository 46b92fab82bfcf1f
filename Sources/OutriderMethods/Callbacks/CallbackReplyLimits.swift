// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Limits of members of replies to callbacks that stay in memory uncounted: with a failure, or with an attempt. Bodies and
/// values have no such limit, for they are counted.
enum CallbackReplyLimits {
    /// Bytes of a sentence that becomes part of a failure: 16 KiB.
    static let reasonBytes = 16 << 10
    /// Bytes of header fields, as in any request, and of a query.
    static let headBytes = FieldCheck.maximumHeadBytes

    static func fault(inReason reason: String) -> String? { fault(reason.utf8.count, reasonBytes) }

    static func fault(inFields fields: FieldsParameter) -> String? {
        fault(fields.fields.list.reduce(0) { $0 &+ $1.name.utf8.count &+ $1.value.utf8.count &+ 4 }, headBytes)
    }

    static func fault(inNames names: [String]) -> String? {
        fault(names.reduce(0) { $0 &+ $1.utf8.count &+ 4 }, headBytes)
    }

    static func fault(inQuery text: String) -> String? { fault(text.utf8.count, headBytes) }

    private static func fault(_ bytes: Int, _ most: Int) -> String? {
        bytes > most ? "must not be longer than \(most) bytes" : nil
    }
}
