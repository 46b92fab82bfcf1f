// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// An executor for each loop of a group.
final class LoopExecutors: Sendable {
    private let group: any EventLoopGroup
    private let executors: [ObjectIdentifier: LoopExecutor]
    /// The only executor, if the group has a single loop.
    private let single: LoopExecutor?

    init(_ group: any EventLoopGroup) {
        self.group = group
        var executors: [ObjectIdentifier: LoopExecutor] = [:]
        for loop in group.makeIterator() { executors[ObjectIdentifier(loop)] = LoopExecutor(loop) }
        self.executors = executors
        single = executors.count == 1 ? executors.first?.value : nil
    }

    func later(seconds: Double, _ work: @escaping @Sendable () -> Void) -> ScheduledWork {
        ScheduledWork(seconds, on: group, work)
    }

    /// The executor of the current loop, or of any loop.
    var current: LoopExecutor {
        if let single { return single }
        let loop = group.any()
        return executors[ObjectIdentifier(loop)] ?? LoopExecutor(loop)
    }
}
