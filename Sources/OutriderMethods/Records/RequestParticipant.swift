// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// A participant in a request beside the client's callbacks.
protocol RequestParticipant: AnyObject, Sendable {
    /// Joins the plan. Returns the new delegate: the participant itself, which forwards calls for other advisors.
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeDelegate)?) -> any ExchangeDelegate
}
