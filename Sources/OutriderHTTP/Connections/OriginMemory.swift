// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Remembers origins for 10 minutes: at most 1,000; beyond that the oldest is forgotten.
package struct OriginMemory {
    private static let most = 1_000
    private static let seconds = 600.0

    private var until: [PoolKey: Double] = [:]

    package init() {}

    package func contains(_ key: PoolKey, now: Double) -> Bool {
        guard !until.isEmpty, let end = until[key] else { return false }
        return now < end
    }

    package mutating func insert(_ key: PoolKey, now: Double) {
        if until.count >= Self.most, until[key] == nil, let oldest = until.min(by: { $0.value < $1.value }) {
            until[oldest.key] = nil
        }
        until[key] = now + Self.seconds
    }

    package mutating func remove(_ key: PoolKey) {
        if !until.isEmpty { until[key] = nil }
    }
}
