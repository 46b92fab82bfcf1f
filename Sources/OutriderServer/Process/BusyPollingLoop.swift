// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
package import NIOPosix
import Synchronization

/// Busy-polls an event loop for a moment after each turn, if BusyPollPolicy expects that to pay.
///
/// NIO calls its metrics delegate just before the loop goes to sleep; the poll runs in that call, on the loop's own
/// epoll descriptor, so every event that would wake the loop ends the poll.
package final class BusyPollingLoop: NIOEventLoopMetricsDelegate {
    /// The end of a turn.
    enum Outcome: Equatable {
        case noPolling, came, missed
    }

    private struct State {
        var machine = BusyPollPolicy()
        /// Nil if the loop never polls.
        var selector: Int32?
    }

    private let state: Mutex<State>

    init(selector: Int32?) { state = Mutex(State(selector: selector)) }

    /// A group with a single loop, which polls unless the machine has only one processor: there a poll would delay the
    /// process that the loop waits for.
    package static func makeGroup() -> MultiThreadedEventLoopGroup {
        let polling = BusyPollingLoop(selector: nil)
        let before = selectors()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: polling)
        let made = selectors().subtracting(before)
        // if the descriptor belonged to another loop, polls would be in vain, and soon rare
        if System.coreCount > 1, made.count == 1 { polling.state.withLock { $0.selector = made.first } }
        return group
    }

    package func processedTick(info: NIOEventLoopTickInfo) { turned(after: info.sleepTime.nanoseconds) }

    /// Runs on the loop's thread, when the loop is idle.
    @discardableResult
    func turned(after gap: Int64) -> Outcome {
        state.withLock { state in
            guard let selector = state.selector, state.machine.turned(after: gap) else { return .noPolling }
            guard let time = Self.pollForEvent(selector) else {
                state.machine.missed()
                return .missed
            }
            state.machine.came(after: time)
            return .came
        }
    }

    /// The nanoseconds until an event came; nil if none came in time.
    private static func pollForEvent(_ selector: Int32) -> Int64? {
        var look = pollfd(fd: selector, events: Int16(POLLIN), revents: 0)
        let start = NIODeadline.now()
        var time: Int64 = 0
        repeat {
            if poll(&look, 1, 0) != 0 { return time }
            // the client, or a server on this machine, may wait for this very processor
            sched_yield()
            time = (NIODeadline.now() - start).nanoseconds
        } while time < BusyPollPolicy.patience
        return nil
    }

    /// The epoll descriptors of the process, which has few other descriptors at its start.
    static func selectors(below end: Int32 = 64) -> Set<Int32> {
        var found: Set<Int32> = []
        var target = [UInt8](repeating: 0, count: 64)
        for descriptor in 0..<end {
            let length = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            guard length > 0 else { continue }
            if String(decoding: target[..<length], as: UTF8.self) == "anon_inode:[eventpoll]" {
                found.insert(descriptor)
            }
        }
        return found
    }
}
