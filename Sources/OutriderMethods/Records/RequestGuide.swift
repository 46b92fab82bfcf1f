// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// Whoever takes part in one request beside the client's own code.
protocol RequestGuide: AnyObject, Sendable {
    /// Takes its place in the plan. Returns who is asked from now on: itself, which hands on what is not for it.
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeAdvisor)?) -> any ExchangeAdvisor
}
