// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import NIOPosix
import Synchronization

/// The event loops of the service, with the number of clients on each.
package final class ServiceLoops: Sendable {
    /// The number of loops (`--loops`).
    package enum Count: Sendable, Equatable {
        case fixed(Int)
        /// Up to one for each processor, as long as those before are busy.
        case auto

        func loops(ofProcessors cores: Int) -> Int {
            switch self {
            case .fixed(let count): max(1, count)
            case .auto: max(1, cores)
            }
        }
    }

    package let group: MultiThreadedEventLoopGroup
    private let loops: [any EventLoop]
    private let choice: Mutex<LoopChoice>
    /// Nil for a single loop.
    private let watch: LoopWatch?

    /// The number of loops that `init` would make.
    package static func number(_ count: Count, most: Int = .max) -> Int {
        min(count.loops(ofProcessors: System.coreCount), max(1, most))
    }

    /// - Parameter most: the limit of the number of loops.
    package init(_ count: Count, most: Int = .max) {
        let number = Self.number(count, most: most)
        if number == 1 {
            group = BusyPollingLoop.makeGroup()
            watch = nil
        } else {
            let watch = LoopWatch()
            let before = BusyPollingLoop.selectors()
            group = MultiThreadedEventLoopGroup(numberOfThreads: number, metricsDelegate: watch)
            watch.begin(
                Array(group.makeIterator()), selectors: BusyPollingLoop.selectors().subtracting(before).sorted())
            self.watch = watch
        }
        loops = Array(group.makeIterator())
        choice = Mutex(LoopChoice(loops: number, count == .auto ? .whenBusy : .even))
    }

    /// The number of loops.
    package var count: Int { loops.count }

    /// Connected clients by loop.
    package var clients: [Int] { choice.withLock { $0.clients } }

    /// The loop that accepts clients.
    var first: any EventLoop { loops.first ?? group.next() }

    /// The loop of the next client, to be given back with `leave`.
    func enter() -> (index: Int, loop: any EventLoop) {
        guard let watch else {
            return (choice.withLock { $0.enter([]) }, first)
        }
        let loads = watch.loads
        let index = choice.withLock { $0.enter(loads) }
        return (index, loops[index])
    }

    func leave(_ index: Int) { choice.withLock { $0.leave(index) } }
}

/// Measures the load of each loop, and polls in each if processors are left for the clients.
private final class LoopWatch: NIOEventLoopMetricsDelegate {
    private final class Entry: Sendable {
        let load = Mutex(LoopLoad())
        let polling: BusyPollingLoop

        init(_ selector: Int32?) { polling = BusyPollingLoop(selector: selector) }
    }

    private struct State {
        var order: [Entry] = []
        var entries: [ObjectIdentifier: Entry] = [:]
    }

    private let state = Mutex(State())

    /// - Parameter selectors: the epoll descriptors of the loops, which are made one after the other.
    func begin(_ loops: [any EventLoop], selectors: [Int32]) {
        let polls = System.coreCount > loops.count && selectors.count == loops.count
        state.withLock { state in
            for (index, loop) in loops.enumerated() {
                let entry = Entry(polls ? selectors[index] : nil)
                state.order.append(entry)
                state.entries[ObjectIdentifier(loop)] = entry
            }
        }
    }

    var loads: [Double] {
        let now = Int64(clamping: NIODeadline.now().uptimeNanoseconds)
        return state.withLock { $0.order }.map { entry in entry.load.withLock { $0.share(at: now) } }
    }

    func processedTick(info: NIOEventLoopTickInfo) {
        guard let entry = state.withLock({ $0.entries[info.eventLoopID] }) else { return }
        let slept = info.sleepTime.nanoseconds
        entry.load.withLock { load in
            load.turned(
                slept: slept, began: Int64(clamping: info.startTime.uptimeNanoseconds),
                ended: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
        }
        // a poll is no work, and is not counted in the load: the next turn begins after it
        entry.polling.turned(after: slept)
    }
}
