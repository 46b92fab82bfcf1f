// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

extension RPCError {
    /// The error for an operation that the stream does not allow in its state.
    static func wrongState(_ message: String, _ state: String) -> RPCError {
        RPCError(.wrongState, message, data: ["pointer": .string("/stream"), "state": .string(state)])
    }

    /// The same with the failure as the reason.
    static func wrongState(_ failure: HTTPFailure, _ state: String) -> RPCError {
        var error = RPCError(failure)
        error.code = Code.wrongState.rawValue
        error.data?["what"] = nil
        error.data?["pointer"] = .string("/stream")
        error.data?["state"] = .string(state)
        return error
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
