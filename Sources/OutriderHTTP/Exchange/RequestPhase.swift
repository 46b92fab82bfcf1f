// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Where a request is, as its owner sees it.
///
///     created ──▶ sent ──▶ responded ──▶ finished
///        ▲  │       │          │
///        │  └─▶ retrying ◀─────┘          cancelled: from everywhere but the ends
///
package enum RequestPhase: String, Sendable, CaseIterable {
    /// Until the head of the first attempt is written.
    case created
    /// Until the head of the answer arrives.
    case sent
    /// Until the body of the answer ended.
    case responded
    /// Between an attempt and the next.
    case retrying
    case cancelled
    case finished

    /// Nothing follows any more.
    package var isFinal: Bool { self == .cancelled || self == .finished }

    /// Whether another phase may follow this one. None follows itself.
    package func mayBecome(_ next: RequestPhase) -> Bool {
        switch (self, next) {
        case (.cancelled, _), (.finished, _): false
        case (_, .cancelled), (_, .finished): true
        case (.created, .sent), (.created, .retrying), (.sent, .responded), (.sent, .retrying): true
        // a redirect sends again without having failed
        case (.responded, .retrying), (.responded, .sent), (.retrying, .sent): true
        default: false
        }
    }
}
