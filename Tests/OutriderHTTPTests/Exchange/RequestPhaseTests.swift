// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct RequestPhaseTests {
    private static let allowed: [RequestPhase: Set<RequestPhase>] = [
        .created: [.resumed, .suspended, .cancelled, .finished],
        .resumed: [.adapted, .sent, .responded, .retrying, .suspended, .cancelled, .finished],
        .adapted: [.sent, .retrying, .suspended, .cancelled, .finished],
        .sent: [.responded, .retrying, .suspended, .cancelled, .finished],
        .responded: [.retrying, .suspended, .cancelled, .finished],
        .suspended: [.resumed, .cancelled, .finished],
        .retrying: [.adapted, .sent, .suspended, .cancelled, .finished],
        .cancelled: [],
        .finished: [],
    ]

    @Test func `phases follow each other as drawn [F1] [F2]`() {
        for phase in RequestPhase.allCases {
            for next in RequestPhase.allCases {
                #expect(phase.mayBecome(next) == (Self.allowed[phase]?.contains(next) == true), "\(phase) → \(next)")
            }
        }
    }

    @Test func `every phase can end, and ends stay`() {
        for phase in RequestPhase.allCases {
            #expect(phase.isFinal != phase.mayBecome(.cancelled))
            #expect(phase.isFinal != phase.mayBecome(.finished))
        }
    }
}
