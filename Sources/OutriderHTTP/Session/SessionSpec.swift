// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What the requests of a session have in common, unless they say otherwise. Every value has a default that adds nothing.
package struct SessionSpec: Sendable {
    /// Fields for requests that have none of that name.
    package var fields: HTTPFields = []
    /// Connections to one origin at once; nil for the service's own number.
    package var connectionsPerHost: Int?
    package var redirect: RedirectPolicy?
    /// Whether `start` sends a request; otherwise the first `resume` does. Default true.
    package var startsImmediately = true
    package var limits = AdmissionLimits()

    package init() {}
}
