// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits for a JSON text.
///
/// Checked before any memory is allocated for the text.
package struct JSONLimits: Sendable {
    /// Arrays and objects inside each other.
    ///
    /// Default 128.
    package var depth = 128
    /// Values and member names in the whole text.
    ///
    /// Default 250,000.
    package var tokens = 250_000
    /// Members of an object.
    ///
    /// Default 10,000.
    package var members = 10_000
    /// Whether an integer may have more than 64 bits. Refused from clients, because half of their libraries would round
    /// such integers. Default false.
    package var hasLongIntegers = false

    /// String values from this length on, in bytes, are found by the scan and need not pass through jansson.
    static let longString = 4096

    package init() {}
}
