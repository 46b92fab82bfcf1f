// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// A ReplayInfo of the contract.
struct ReplayInfoShape: ObjectShape {
    private let tape: Tape

    private static let mostUnused = 1000

    init(_ tape: Tape) { self.tape = tape }

    func encodeMembers(to writer: inout JSONWriter) {
        let counts = tape.counts
        writer.member("path", tape.settings.path)
        writer.member("mode", tape.settings.mode.rawValue)
        writer.member("recording", tape.records)
        writer.member("entries", tape.entries)
        writer.name("unusable")
        writer.array { writer in
            for one in tape.unusable {
                writer.object { writer in
                    writer.member("entry", one.number)
                    writer.member("reason", one.reason)
                }
            }
        }
        writer.member("played", counts.played)
        writer.member("recorded", counts.recorded)
        writer.member("missed", counts.missed)
        writer.member("unused", tape.unused(most: Self.mostUnused))
        writer.member("failure", tape.failure.map { FailureShape($0) })
    }
}

extension RPCError {
    static var noCassette: RPCError {
        RPCError(
            .wrongState, "the session has no cassette: begin one with replay.start",
            data: ["pointer": .string("/session"), "state": .string("none")])
    }
}
