// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// One request on its way, from the moment it is made until nobody asks for it any more.
///
/// Responsible for: its state as others see it, starting, cancelling and waiting.
/// Not responsible for: what happens next, which ExchangeRunner finds out.
package final class Exchange: Sendable {
    /// What others may wait for.
    package enum Milestone: Sendable { case response, finish }

    /// How it stands.
    package struct Snapshot: Sendable {
        package var phase = RequestPhase.created
        package var attempts = 0
        package var head: ExchangeHead?
        package var failure: HTTPFailure?
        package var progress = Progress()
    }

    struct Waiter {
        var milestone: Milestone
        var continuation: CheckedContinuation<Bool, Never>
    }

    struct State {
        var snapshot = Snapshot()
        var request: Result<Attempt, HTTPFailure>
        var observer: (any ExchangeObserver)?
        var task: Task<Void, Never>?
        var isStarted = false
        /// Why it is to end early.
        var cancellation: HTTPFailure?
        /// How it ends is settled; its observer may still be hearing of it.
        var isEnding = false
        var outcome: ExchangeOutcome?
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var whenEnded: (@Sendable () -> Void)?
        var watchdog: Postponed?
        /// When the head of the request was written.
        var uploadBegan: ContinuousClock.Instant?
        var uploadLimiter: ProgressLimiter?
    }

    package let created = WallTime.now
    /// Counted over the whole service, in the order in which they were made.
    package let number: Int
    package let destination: BodyDestination
    package let maxInline: Int
    /// Whether its outcome stays, body and all, for those who ask later.
    package let keepsBody: Bool
    package let url: String
    package let method: String
    let surroundings: Surroundings
    package let quota: BodyQuota
    let state: Mutex<State>

    init(
        _ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, in surroundings: Surroundings, quota: BodyQuota,
        keepsBody: Bool, observer: (any ExchangeObserver)?
    ) {
        destination = spec.destination
        maxInline = spec.maxInline
        self.keepsBody = keepsBody
        self.surroundings = surroundings
        self.quota = quota
        number = surroundings.counters.next()
        var state = State(request: request, observer: observer)
        state.uploadLimiter = observer?.progressInterval.map { ProgressLimiter(interval: .seconds($0)) }
        switch request {
        case .success(let attempt):
            url = attempt.url.description
            method = attempt.method
            switch attempt.body {
            case .none: break
            case .bytes(let bytes): state.snapshot.progress.sentTotal = Int64(bytes.count)
            case .file(_, let size): state.snapshot.progress.sentTotal = size
            }
        case .failure:
            url = spec.url
            method = spec.method
        }
        self.state = Mutex(state)
    }

    /// Sends it. Once is enough; more does nothing.
    package func start() {
        let begins = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard begins else { return }
        surroundings.counters.began()
        let task = Task(executorPreference: surroundings.executors.current) {
            var runner = ExchangeRunner(self)
            await runner.run()
        }
        let cancelled = state.withLock { state in
            if !state.isEnding { state.task = task }
            return state.cancellation != nil
        }
        if cancelled { task.cancel() }
    }

    /// Ends it with explicitlyCancelled, unless it has ended.
    package func cancel() {
        end(with: HTTPFailure(.explicitlyCancelled, "the request was cancelled"))
        // what was never started has no runner to end it
        start()
    }

    /// Ends it early, unless it has ended.
    func end(with failure: HTTPFailure) {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard !state.isEnding, state.cancellation == nil else { return nil }
            state.cancellation = failure
            if failure.kind == .explicitlyCancelled { state.snapshot.phase = .cancelled }
            return state.task
        }
        task?.cancel()
    }

    /// Gives the body back that nobody will ask for.
    package func dropBody() {
        let body = state.withLock { state in
            defer { state.outcome?.body = .none }
            return state.outcome?.body
        }
        if case .kept(let body) = body { body.release() }
    }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Nil until it has ended.
    package var outcome: ExchangeOutcome? { state.withLock { $0.outcome } }

    /// A body up to this stays for `request.describe` and `har.export`.
    private static let shownBodyBytes = 4 << 10

    /// The outcome, once: unless `keepsBody`, what stays behind is without its body, but for a short one.
    package func takeOutcome() -> ExchangeOutcome? {
        state.withLock { state in
            defer {
                if !keepsBody, case .memory(let bytes, _)? = state.outcome?.body, bytes.count > Self.shownBodyBytes {
                    state.outcome?.body = .none
                }
            }
            return state.outcome
        }
    }

    /// Runs the work once it has ended; at once if it has. One piece of work per exchange.
    package func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.outcome == nil { state.whenEnded = work }
            return state.outcome != nil
        }
        if isOver { work() }
    }

    /// What goes on the wire, for showing. After the end a long body is replaced by standard input.
    package var request: Result<Attempt, HTTPFailure> { state.withLock { $0.request } }

    package var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Waits until it has come that far, or ended. False if the caller's task was cancelled first.
    package func reached(_ milestone: Milestone) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.outcome != nil { return true }
                    if milestone == .response, state.snapshot.head != nil { return true }
                    if Task.isCancelled { return false }
                    state.waiters[id] = Waiter(milestone: milestone, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: false)
        }
    }
}
