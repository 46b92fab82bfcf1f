// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization
import Testing

/// Adapters, redirects, retries, and holding up.
struct LifeTests {
    private static let lost = ScriptedTransport.Script(failureBeforeHead: HTTPFailure(.connectionLost, "lost"))
    private static let well = ScriptedTransport.Script(chunks: [[1, 2]])

    private static func redirect(_ status: Int, _ location: String) -> ScriptedTransport.Script {
        ScriptedTransport.Script(status: status, fields: [.init("Location", location)], chunks: [[9]])
    }

    /// Retries without delay.
    private static func policy(limit: Int = 2, scale: Double = 0) -> Retrier {
        var policy = RetryPolicy()
        policy.limit = limit
        policy.backoff.scale = scale
        return .policy(policy)
    }

    private static var changes: [Adaptation] {
        get throws(HTTPFailure) {
            [
                .headers(try FieldChanges([.init("A", "1"), .init("b", "4")])), .query("x=1"),
                .headers(try FieldChanges([.init("a", "2")])), .credential(try .bearer("t")), .query("y=2"),
            ]
        }
    }

    // MARK: redirects

    @Test func `a redirect is followed, told, and listed [T7] [T8]`() async throws {
        let listener = Listener()
        let stage = Stage(Self.redirect(302, "/b"), Self.redirect(307, "http://127.0.0.1:81/c"), Self.well)
        let outcome = try #require(
            await stage.outcome(observer: listener) { $0.fields = [.init("X-Secret", "s"), .init("Accept", "a/b")] })
        #expect(outcome.failure == nil)
        #expect(outcome.url == "http://127.0.0.1:81/c")
        #expect(outcome.attempts == 1)
        #expect(outcome.redirects.map(\.to) == ["http://127.0.0.1/b", "http://127.0.0.1:81/c"])
        #expect(outcome.redirects.map(\.dropped) == [[], ["X-Secret"]])
        #expect(outcome.timelines.count == 3)
        guard case .memory([1, 2], _) = outcome.body else { throw Wrong() }
        #expect(stage.transport.attempts.last?.fields.list.map(\.name) == ["Accept"])
        #expect(
            listener.events == [
                "created", "resumed", "sent", "redirect 302 http://127.0.0.1/b 1",
                "redirect 307 http://127.0.0.1:81/c 1", "responded", "response 200 1", "finished", "well",
            ])
    }

    @Test func `a redirect that must not be followed fails, and keeps what came`() async throws {
        let stage = Stage(Self.redirect(302, "file:///etc/passwd"))
        let outcome = try #require(await stage.outcome())
        #expect(outcome.failure?.kind == .unsupportedScheme)
        #expect(outcome.head?.status == 302)
        guard case .memory([9], _) = outcome.body else { throw Wrong() }
        #expect(stage.transport.attempts.count == 1)
    }

    @Test func `a loop ends at the limit`() async throws {
        let stage = Stage(Self.redirect(302, "/a"))
        let outcome = try #require(await stage.outcome { $0.plan.redirect.limit = 3 })
        #expect(outcome.failure?.kind == .tooManyRedirects)
        #expect(outcome.redirects.count == 3)
        #expect(stage.transport.attempts.count == 4)
    }

    @Test func `with none, the redirect is the response [T4]`() async throws {
        let stage = Stage(Self.redirect(302, "/b"))
        let outcome = try #require(await stage.outcome { $0.plan.redirect = .none })
        #expect(outcome.failure == nil)
        #expect(outcome.head?.status == 302)
        #expect(outcome.url == "http://127.0.0.1/a")
        guard case .memory([9], _) = outcome.body else { throw Wrong() }
    }

    @Test func `a retry begins at the first URL again`() async throws {
        let stage = Stage(Self.redirect(302, "/b"), Self.lost, Self.redirect(302, "/c"), Self.well)
        let exchange = await stage.exchange { $0.plan.retriers = [Self.policy()] }
        exchange.start()
        _ = await exchange.reached(.finish)
        let outcome = try #require(exchange.takeOutcome())
        #expect(outcome.failure == nil)
        #expect(outcome.redirects.map(\.to) == ["http://127.0.0.1/c"])
        #expect(stage.transport.attempts.map(\.url.target) == ["/a", "/b", "/a", "/c"])
        #expect(exchange.snapshot.earlier.map(\.url).map { $0.suffix(1) } == ["a", "b", "a"])
        #expect(exchange.snapshot.earlier.map(\.attempt) == [1, 1, 2])
        #expect(exchange.snapshot.retries == 1)
    }

    // MARK: retries

    @Test func `what was lost is sent again, as often as the policy says`() async throws {
        let listener = Listener()
        let stage = Stage(Self.lost, Self.lost, Self.well)
        let outcome = try #require(
            await stage.outcome(observer: listener) { $0.plan.retriers = [Self.policy(scale: 0.001)] })
        #expect(outcome.failure == nil)
        #expect(outcome.attempts == 3)
        #expect(
            listener.events == [
                "created", "resumed", "sent", "retrying", "retry 1 0.001", "sent", "retrying", "retry 2 0.002", "sent",
                "responded", "response 200 3", "finished", "well",
            ])
        let worse = Stage(Self.lost)
        #expect(await worse.outcome { $0.plan.retriers = [Self.policy()] }?.failure?.kind == .connectionLost)
        #expect(worse.transport.attempts.count == 3)
    }

    @Test func `a body that broke off leaves nothing behind for the next attempt [F12]`() async throws {
        var cut = ScriptedTransport.Script(chunks: [[7, 7, 7]])
        cut.failureAfterChunks = HTTPFailure(.connectionLost, "lost")
        let stage = Stage(cut, Self.well)
        let outcome = try #require(await stage.outcome { $0.plan.retriers = [Self.policy()] })
        guard case .memory([1, 2], _) = outcome.body else { throw Wrong() }
        #expect(outcome.bodyBytes == 2)
        #expect(!outcome.isTruncated)
        let kept = Stage(cut, Self.well)
        _ = await kept.outcome(.stored) { $0.plan.retriers = [Self.policy()] }
        #expect(kept.quota.held.0 <= 2)
    }

    @Test func `a POST is not sent again by the default policy`() async throws {
        let stage = Stage(Self.lost)
        let outcome = await stage.outcome {
            $0.method = "POST"
            $0.plan.retriers = [Self.policy()]
        }
        #expect(outcome?.failure?.kind == .connectionLost)
        #expect(stage.transport.attempts.count == 1)
    }

    @Test func `the service has a ceiling, whatever the policy says [J10]`() async throws {
        let stage = Stage(Self.lost, mostAttempts: 4)
        _ = await stage.outcome { $0.plan.retriers = [Self.policy(limit: 99)] }
        #expect(stage.transport.attempts.count == 4)
    }

    @Test func `an origin in trouble does not get more and more to do`() async throws {
        let stage = Stage(Self.lost)
        for _ in 0..<110 { _ = await stage.outcome { $0.plan.retriers = [Self.policy(limit: 9)] } }
        #expect(stage.transport.attempts.count <= 110 + 511)
        #expect(stage.transport.attempts.count >= 110 + 500)
    }

    @Test func `a response that no validator rejects is repeated if the policy says so`() async throws {
        var busy = ScriptedTransport.Script(status: 503, chunks: [[5]])
        busy.fields.add("Retry-After", "0")
        var policy = RetryPolicy()
        policy.backoff.scale = 0
        let retrier = Retrier.policy(policy)
        let better = Stage(busy, Self.well)
        #expect(await better.outcome { $0.plan.retriers = [retrier] }?.head?.status == 200)
        let worse = Stage(busy)
        let outcome = try #require(await worse.outcome { $0.plan.retriers = [retrier] })
        #expect(outcome.failure == nil)
        #expect(outcome.attempts == 3)
        guard case .memory([5], _) = outcome.body else { throw Wrong() }
    }

    @Test func `cancelled during the delay, it ends once, and at once [F10] [J9]`() async throws {
        let listener = Listener()
        let stage = Stage(Self.lost)
        let exchange = await stage.exchange(observer: listener) { $0.plan.retriers = [Self.policy(scale: 50)] }
        exchange.start()
        while exchange.snapshot.phase != .retrying { await Task.yield() }
        exchange.cancel()
        #expect(await exchange.reached(.finish))
        #expect(exchange.outcome?.failure?.kind == .explicitlyCancelled)
        #expect(stage.transport.attempts.count == 1)
        #expect(listener.events.filter { $0 == "well" || $0 == "badly" } == ["badly"])
        #expect(stage.engine.counts.running == 0)
    }

    // MARK: adapters

    @Test func `adapters change each attempt anew, in order [J3] [F14]`() async throws {
        let stage = Stage(Self.lost, Self.well)
        let listener = Listener()
        let changes = try Self.changes
        let outcome = try #require(
            await stage.outcome(observer: listener) {
                $0.fields = [.init("B", "0")]
                $0.plan.adaptations = changes
                $0.plan.retriers = [Self.policy()]
            })
        #expect(outcome.failure == nil)
        for attempt in stage.transport.attempts {
            #expect(attempt.fields.list.map { "\($0.name):\($0.value)" } == ["b:4", "a:2", "Authorization:Bearer t"])
            #expect(attempt.url.target == "/a?x=1&y=2")
        }
        #expect(stage.transport.attempts.count == 2)
        #expect(
            listener.events.prefix(6) == ["created", "resumed", "adapted", "sent", "retrying", "retry 1 0.0"])
    }

    @Test func `an adapter that fails ends it unsent, unless a retrier helps [J1]`() async throws {
        let stage = Stage(Self.well)
        let outcome = await stage.outcome {
            $0.method = "POST"
            $0.body = BodySpec(.bytes([1]), contentType: nil)
            $0.fields = [.init("Content-Encoding", "br")]
            $0.plan.adaptations = [.compress(RequestCompression(.gzip))]
        }
        #expect(outcome?.failure?.kind == .requestAdaptationFailed)
        #expect(outcome?.attempts == 0)
        #expect(stage.transport.attempts.isEmpty)
    }

    // MARK: the client's code

    @Test func `the client's code is called at every point, and its reply is kept [F16] [T2] [J5]`() async throws {
        let stage = Stage(Self.redirect(302, "/b"), Self.well, Self.redirect(302, "/b"), Self.well)
        let delegate = Advisor()
        let outcome = try #require(
            await stage.outcome(delegate: delegate) {
                $0.plan.adaptations = [.callback("one")]
                $0.plan.redirect.callback = "two"
                $0.plan.judgesHead = true
                $0.plan.reviewsResponse = true
                $0.plan.retriers = [Self.policy(), .callback("three")]
            })
        #expect(outcome.failure == nil)
        #expect(outcome.attempts == 2)
        #expect(outcome.url == "http://127.0.0.1/elsewhere")
        #expect(
            delegate.callbacks.withLock { $0 } == [
                "adapt one 1", "redirect two /b", "judge 200", "review 2", "retry three customValidationFailed 1",
                "adapt one 2", "redirect two /b", "judge 200", "review 2",
            ])
        #expect(stage.transport.attempts.allSatisfy { $0.fields.first("X-Adapted") == "yes" })
        #expect(stage.transport.control.holds.load(ordering: .relaxed) == 7)
        #expect(stage.transport.control.releases.load(ordering: .relaxed) == 7)
    }

    // MARK: holding up

    @Test func `what is suspended before it starts waits for its resuming [F4]`() async throws {
        let listener = Listener()
        let stage = Stage(Self.well)
        let exchange = await stage.exchange(observer: listener)
        for _ in 0..<3 { exchange.suspend() }
        exchange.start()
        #expect(exchange.snapshot.phase == .suspended)
        #expect(stage.transport.attempts.isEmpty)
        for _ in 0..<3 { exchange.resume() }
        #expect(await exchange.reached(.finish))
        #expect(
            listener.events == [
                "created", "suspended", "resumed", "sent", "responded", "response 200 1", "finished", "well",
            ])
    }

    @Test func `suspended in its body, it reads no more until it is resumed`() async throws {
        let holder = Mutex<Exchange?>(nil)
        var script = ScriptedTransport.Script(chunks: [[1], [2], [3]])
        let consulted = Mutex<[Int]>([])
        script.beforeChunk = { index in
            consulted.withLock { $0.append(index) }
            if index == 1 { holder.withLock { $0 }?.suspend() }
        }
        let listener = Listener()
        let stage = Stage(script)
        let exchange = await stage.exchange(observer: listener)
        holder.withLock { $0 = exchange }
        exchange.start()
        while exchange.snapshot.progress.received < 2 { await Task.yield() }
        for _ in 0..<1000 { await Task.yield() }
        #expect(consulted.withLock { $0 } == [0, 1])
        #expect(exchange.snapshot.phase == .suspended)
        #expect(exchange.outcome == nil)
        #expect(stage.transport.control.holds.load(ordering: .relaxed) == 1)
        exchange.resume()
        #expect(await exchange.reached(.finish))
        guard case .memory([1, 2, 3], _) = exchange.takeOutcome()?.body else { throw Wrong() }
        #expect(
            listener.events == [
                "created", "resumed", "sent", "responded", "response 200 1", "suspended", "resumed", "finished", "well",
            ])
        holder.withLock { $0 = nil }
    }

    @Test(arguments: [true, false]) func `what is suspended can be cancelled`(isStarted: Bool) async throws {
        var script = ScriptedTransport.Script()
        script.hangsBeforeHead = true
        let stage = Stage(script)
        let exchange = await stage.exchange()
        if isStarted { exchange.start() }
        exchange.suspend()
        exchange.cancel()
        exchange.resume()
        exchange.suspend()
        #expect(await exchange.reached(.finish))
        #expect(exchange.snapshot.phase == .cancelled)
        #expect(exchange.outcome?.failure?.kind == .explicitlyCancelled)
    }

    @Test func `no event precedes the creation, although another thread suspends`() async throws {
        for _ in 0..<2000 {
            let listener = Listener()
            let exchange = await Stage(Self.well).exchange(observer: listener)
            async let suspended: Void = Task.detached { exchange.suspend() }.value
            exchange.start()
            await suspended
            exchange.resume()
            #expect(await exchange.reached(.finish))
            #expect(listener.events.first == "created")
        }
    }

    @Test func `whatever its owner does and when, it ends once [F18]`() async throws {
        var random = SplitMix(state: 7)
        let changes = try Self.changes
        for _ in 0..<300 {
            let stage = Stage(Self.lost, Self.redirect(302, "/b"), Self.well)
            let listener = Listener()
            let exchange = await stage.exchange(observer: listener) {
                $0.plan.retriers = [Self.policy(scale: 0.0001)]
                $0.plan.adaptations = changes
            }
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                switch Int.random(in: 0..<8, using: &random) {
                case 0...2: exchange.suspend()
                case 3, 4: exchange.resume()
                case 5: exchange.start()
                case 6: await Task.yield()
                default: if Bool.random(using: &random) { exchange.cancel() }
                }
            }
            exchange.start()
            exchange.resume()
            #expect(await exchange.reached(.finish))
            let events = listener.events
            #expect(events.filter { $0 == "well" || $0 == "badly" }.count == 1)
            #expect(["well", "badly"].contains(events.last))
            #expect(events.first == "created" && events.filter { $0 == "created" }.count == 1)
            #expect(stage.engine.counts.running == 0)
        }
    }
}

/// Replies to every callback, and records it.
private final class Advisor: ExchangeDelegate {
    let callbacks = Mutex<[String]>([])

    private func note(_ callback: String) { callbacks.withLock { $0.append(callback) } }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt {
        note("adapt \(name) \(moment.attempt)")
        var attempt = moment.request
        attempt.fields.add("X-Adapted", "yes")
        return attempt
    }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? {
        note("redirect \(name) \(next.url.target)")
        var next = next
        next.url.target = "/elsewhere"
        return next
    }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) { note("judge \(moment.head?.status ?? 0)") }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        guard case .memory(let bytes, _) = body else {
            note("review nothing")
            return nil
        }
        note("review \(bytes.count)")
        if moment.attempt == 1 { throw HTTPFailure(.customValidationFailed, "once more, please") }
        return nil
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict {
        note("retry \(name) \(failure.kind) \(moment.attempt)")
        return .retry(after: 0)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
