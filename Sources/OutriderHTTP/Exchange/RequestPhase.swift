// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The phase of a request, as its owner sees it.
///
///     created ─▶ resumed ─▶ adapted ─▶ sent ─▶ responded ─▶ finished
///                              ▲        ▲          │
///                              └────────┴ retrying ◀        suspended, cancelled: from everywhere but the ends
package enum RequestPhase: String, Sendable, CaseIterable {
    /// Not started yet.
    case created
    /// Running, for the first time or again after a suspension.
    case resumed
    /// Changed by adapters, ready to be sent.
    case adapted
    /// Its head has been written.
    case sent
    /// The head of the response has arrived.
    case responded
    /// Suspended by its owner: no bytes are sent or read.
    case suspended
    /// Between an attempt and the next.
    case retrying
    case cancelled
    case finished

    /// No phase follows.
    package var isFinal: Bool { self == .cancelled || self == .finished }

    /// Whether another phase may follow this phase. No phase follows itself.
    package func mayBecome(_ next: RequestPhase) -> Bool {
        switch (self, next) {
        case (.cancelled, _), (.finished, _): false
        case (_, .cancelled), (_, .finished): true
        case (.created, .resumed), (.created, .suspended): true
        case (.created, _), (_, .created): false
        case (.suspended, .resumed): true
        case (.suspended, _): false
        case (_, .suspended), (_, .retrying): self != next
        case (_, .resumed): false
        case (.resumed, _): true
        case (.adapted, .sent), (.sent, .responded), (.retrying, .adapted), (.retrying, .sent): true
        default: false
        }
    }
}
