// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The common settings of a session's requests, which a request may override. No default adds anything.
package struct SessionSpec: Sendable {
    /// Fields for requests that have none of that name.
    package var fields: HTTPFields = []
    /// Most connections to an origin; nil for the service's own limit.
    package var connectionsPerHost: Int?
    package var redirect: RedirectPolicy?
    /// Whether `start` sends a request; otherwise the first `resume` does. Default true.
    package var startsImmediately = true
    package var limits = AdmissionLimits()

    package init() {}
}
