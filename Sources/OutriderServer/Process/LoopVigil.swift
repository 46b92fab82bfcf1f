// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
package import NIOPosix
import OutriderRPC
import Synchronization

/// Keeps an event loop awake for a moment after each turn, if VigilMachine expects that to pay.
///
/// NIO calls its metrics delegate just before the loop goes to sleep; the vigil is kept in that call. The vigil polls
/// the loop's own epoll descriptor, so every event that would wake the loop ends the vigil.
package final class LoopVigil: NIOEventLoopMetricsDelegate {
    /// The end of a turn.
    enum Outcome: Equatable {
        case noVigil, came, missed
    }

    private struct State {
        var machine = VigilMachine()
        /// Nil if there is never a vigil.
        var selector: Int32?
    }

    private let state: Mutex<State>

    init(selector: Int32?) { state = Mutex(State(selector: selector)) }

    /// A group with a single loop, which keeps vigils unless the machine has only one processor: there a vigil would
    /// delay the process that the loop waits for.
    package static func makeGroup() -> MultiThreadedEventLoopGroup {
        let vigil = LoopVigil(selector: nil)
        let before = selectors()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: vigil)
        let made = selectors().subtracting(before)
        // if the descriptor belonged to another loop, vigils would be in vain, and soon rare
        if System.coreCount > 1, made.count == 1 { vigil.state.withLock { $0.selector = made.first } }
        return group
    }

    package func processedTick(info: NIOEventLoopTickInfo) { turned(after: info.sleepTime.nanoseconds) }

    /// Runs on the loop's thread, when the loop is idle.
    @discardableResult
    func turned(after gap: Int64) -> Outcome {
        state.withLock { state in
            guard let selector = state.selector, state.machine.turned(after: gap) else { return .noVigil }
            let came = Self.keepVigil(selector)
            if came { state.machine.came() } else { state.machine.missed() }
            return came ? .came : .missed
        }
    }

    /// Whether an event came.
    private static func keepVigil(_ selector: Int32) -> Bool {
        var look = pollfd(fd: selector, events: Int16(POLLIN), revents: 0)
        let end = NIODeadline.now() + .nanoseconds(VigilMachine.patience)
        repeat {
            if poll(&look, 1, 0) != 0 { return true }
        } while NIODeadline.now() < end
        return false
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
