// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A handle for cancelling a running call.
package enum RunningCall: Sendable {
    case task(Task<Void, Never>)
    case inline(any InlineCall)

    package func cancel() {
        switch self {
        case .task(let task): task.cancel()
        case .inline(let call): call.cancel()
        }
    }
}
