// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Work on routers and API descriptions, away from the event loop and with a limit of time.
enum RouterWork {
    /// The seconds of processor time that one description may take. The largest public ones take about one.
    private static let longest = 10.0

    /// Whether that time is over; it begins now. Only for the thread that asks for the deadline.
    static func deadline() -> @Sendable () -> Bool {
        let end = Clocks.thread + longest
        return { Clocks.thread >= end }
    }

    /// What the work makes of a document. A complaint becomes the error of the call.
    static func result<Value: Sendable>(
        _ work: @escaping @Sendable (inout WorkBudget) throws(JSONComplaint) -> Value
    ) async throws(RPCError) -> Value {
        let made = await background { () -> Result<Value, JSONComplaint> in
            var budget = WorkBudget(isLate: deadline())
            do throws(JSONComplaint) {
                return .success(try work(&budget))
            } catch {
                return .failure(error)
            }
        }
        return try made.mapError { RPCError($0) }.get()
    }

    /// A result as it is sent: one that lists thousands of endpoints takes long to write.
    static func text(_ result: some JSONEncodable & Sendable) async -> JSONText {
        await background { JSONText(written: JSONWriter.bytes(of: result)) }
    }
}
