// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// The reply to a callback, and the memory of its message; nil for a short message.
struct CallbackReply<Value: Sendable>: Sendable {
    var value: Value
    var charge: (any PayloadCharge)?
}
