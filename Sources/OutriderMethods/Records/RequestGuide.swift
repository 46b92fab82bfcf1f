// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// A participant in a request beside the client's callbacks.
protocol RequestGuide: AnyObject, Sendable {
    /// Joins the plan. Returns the new advisor: the participant itself, which forwards calls for other advisors.
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeAdvisor)?) -> any ExchangeAdvisor
}
