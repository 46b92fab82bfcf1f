// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

extension RPCError {
    /// A stream that cannot do this now.
    static func wrongState(_ message: String, _ state: String) -> RPCError {
        RPCError(.wrongState, message, data: ["pointer": .string("/stream"), "state": .string(state)])
    }
}

extension StreamMachine.Mode {
    private enum Word: String, CaseIterable, Sendable { case push, pull }

    /// Reads `mode` and `credit`.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        let word = try fields.choice("mode", of: Word.self) ?? .pull
        let credit = try fields.integer("credit", in: 0...StreamMachine.creditLimit) ?? 0
        self = word == .push ? .push(credit: credit) : .pull
    }
}
