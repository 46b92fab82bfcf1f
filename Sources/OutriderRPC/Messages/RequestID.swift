// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The id of a call: a string or an integer, echoed unchanged (JSON-RPC 2.0 section 4). Fractions and null are not ids.
package enum RequestID: Hashable, Sendable {
    case string(String)
    case integer(Int64)
}

extension RequestID: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        switch self {
        case .string(let text): writer.value(text)
        case .integer(let number): writer.value(number)
        }
    }
}
