// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// A value for a closure that takes it over, and runs once.
package final class Once<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    package init(_ value: Value) { self.value = Mutex(value) }

    /// Throws after the first call.
    package func take() throws(RPCError) -> Value {
        let taken = value.withLock { value in
            defer { value = nil }
            return value
        }
        guard let taken else { throw RPCError(.internalError, "the parameters of a call were taken twice") }
        return taken
    }
}
