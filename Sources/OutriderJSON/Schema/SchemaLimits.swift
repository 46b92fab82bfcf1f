// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits for checking a value.
package struct SchemaLimits: Sendable {
    /// Faults that are listed.
    package var faults = 16
    /// Schemas inside each other, references included.
    package var depth = 512
    /// Comparisons and steps of patterns; beyond the limit the value counts as not fitting.
    package var steps = 5_000_000

    package init() {}
}
