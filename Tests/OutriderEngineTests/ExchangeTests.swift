// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization
import Testing

struct ExchangeTests {
    @Test(arguments: [false, true]) func `a body comes in memory, and the exchange keeps none of it`(
        arrivesLater: Bool
    ) async throws {
        var script = ScriptedTransport.Script(chunks: [[1, 2], [3], [UInt8](repeating: 4, count: 4096)])
        script.arrivesLater = arrivesLater
        let stage = Stage(script)
        let exchange = await stage.exchange(maxInline: 10_000)
        exchange.start()
        #expect(await exchange.reached(.finish))
        let outcome = try #require(exchange.takeOutcome())
        #expect(outcome.failure == nil)
        #expect(outcome.head?.status == 200)
        #expect(outcome.attempts == 1)
        guard case .memory(let bytes, _) = outcome.body else { throw Wrong() }
        #expect(bytes.prefix(4) == [1, 2, 3, 4])
        guard case ExchangeOutcome.Body.none? = exchange.outcome?.body else { throw Wrong() }
        #expect(exchange.outcome?.bodyBytes == 4099)
        #expect(stage.quota.held == (0, 0))
    }

    @Test func `a body short enough to be shown stays, at no charge`() async throws {
        let stage = Stage(.init(chunks: [[1, 2], [3]]))
        let exchange = await stage.exchange()
        exchange.start()
        #expect(await exchange.reached(.finish))
        for outcome in [exchange.takeOutcome(), exchange.outcome] {
            guard case .memory([1, 2, 3], nil)? = outcome?.body else { throw Wrong() }
        }
        #expect(stage.quota.held == (0, 0))
    }

    @Test(arguments: [false, true]) func `events come in order, and the last is the end`(arrivesLater: Bool) async {
        let listener = Listener(progressInterval: 0)
        var script = ScriptedTransport.Script(chunks: [[1, 2], [3]])
        script.arrivesLater = arrivesLater
        let stage = Stage(script)
        _ = await stage.outcome(observer: listener)
        #expect(
            listener.events == [
                "created", "resumed", "sent", "responded", "response 200 1", "download 2/?", "download 3/?",
                "download 3/3",
                "finished", "well",
            ])
    }

    @Test func `an exchange waits for a listener that has no room, and no event passes another`() async throws {
        let listener = SlowListener()
        let stage = Stage(.init(chunks: [[1, 2], [3]]))
        let exchange = await stage.exchange(observer: listener)
        exchange.start()
        for number in 1...6 {
            while listener.events.count < number { await Task.yield() }
            #expect(exchange.outcome == nil)
            listener.open()
        }
        #expect(await exchange.reached(.finish))
        #expect(listener.events == ["created", "resumed", "responded", "response 200 1", "finished", "well"])
    }

    @Test func `a failure keeps what had arrived`() async throws {
        let lost = HTTPFailure(.connectionLost, "the connection ended early")
        let stage = Stage(.init(chunks: [[7, 8]], failureAfterChunks: lost))
        let outcome = try #require(await stage.outcome())
        #expect(outcome.failure == lost)
        #expect(outcome.isTruncated)
        guard case .memory([7, 8], _) = outcome.body else { throw Wrong() }
        #expect(stage.transport.abandoned.load(ordering: .relaxed) == 1)
    }

    @Test func `a failure before the head has no body`() async throws {
        let refused = HTTPFailure(.connectionRefused, "refused")
        let stage = Stage(.init(failureBeforeHead: refused))
        let outcome = try #require(await stage.outcome(.stored))
        #expect(outcome.failure == refused)
        #expect(outcome.head == nil)
        #expect(!outcome.isTruncated)
        guard case ExchangeOutcome.Body.none = outcome.body else { throw Wrong() }
        #expect(stage.engine.counts.failed == 1)
        #expect(stage.engine.counts.running == 0)
    }

    @Test func `what cannot be built ends when it is started, unsent`() async throws {
        let stage = Stage(.init())
        let exchange = await stage.exchange { $0.url = "http://127.0.0.1:99999/" }
        #expect(exchange.outcome == nil)
        exchange.start()
        #expect(await exchange.reached(.finish))
        #expect(exchange.outcome?.failure?.kind == .invalidURL)
        #expect(exchange.outcome?.failure?.pointer == "/url")
        #expect(exchange.outcome?.attempts == 0)
        #expect(stage.transport.sent.load(ordering: .relaxed) == 0)
    }

    @Test(arguments: [true, false]) func `cancelling ends it at any point [F6]`(beforeHead: Bool) async throws {
        var script = ScriptedTransport.Script(chunks: [[1]])
        script.hangsBeforeHead = beforeHead
        script.hangsAfterChunks = !beforeHead
        let listener = Listener()
        let stage = Stage(script)
        let exchange = await stage.exchange(observer: listener)
        exchange.start()
        if !beforeHead { #expect(await exchange.reached(.response)) }
        exchange.cancel()
        #expect(exchange.snapshot.phase == .cancelled)
        #expect(await exchange.reached(.finish))
        #expect(exchange.outcome?.failure?.kind == .explicitlyCancelled)
        #expect(exchange.snapshot.phase == .cancelled)
        #expect(listener.events.suffix(2) == ["cancelled", "badly"])
    }

    @Test func `cancelling what was never started ends it, too [F5]`() async throws {
        let stage = Stage(.init())
        let exchange = await stage.exchange()
        exchange.cancel()
        #expect(await exchange.reached(.finish))
        #expect(exchange.outcome?.failure?.kind == .explicitlyCancelled)
        #expect(stage.transport.sent.load(ordering: .relaxed) == 0)
    }

    @Test func `cancelling after the end changes nothing [F9]`() async throws {
        let stage = Stage(.init(chunks: [[1]]))
        let exchange = await stage.exchange()
        exchange.start()
        #expect(await exchange.reached(.finish))
        exchange.cancel()
        #expect(exchange.snapshot.phase == .finished)
        #expect(exchange.outcome?.failure == nil)
    }

    @Test func `who stops waiting leaves the exchange alone`() async throws {
        var script = ScriptedTransport.Script()
        script.hangsBeforeHead = true
        let stage = Stage(script)
        let exchange = await stage.exchange()
        exchange.start()
        let waiting = Task { await exchange.reached(.finish) }
        waiting.cancel()
        #expect(await waiting.value == false)
        #expect(exchange.outcome == nil)
        exchange.cancel()
        #expect(await exchange.reached(.finish))
    }

    @Test func `a long request body does not stay behind`() async throws {
        let stage = Stage(.init())
        let exchange = await stage.exchange {
            $0.method = "POST"
            $0.body = BodySpec(.bytes([UInt8](repeating: 1, count: 1 << 20)))
        }
        exchange.start()
        #expect(await exchange.reached(.finish))
        #expect(try exchange.request.get().body == .file(path: "-", size: 1 << 20))
        #expect(exchange.snapshot.progress.sent == 1 << 20)
    }

    @Test func `a file to send must be a regular one`() async throws {
        let stage = Stage(.init())
        for path in ["/dev/zero", "/nowhere/at/all", "/"] {
            let exchange = await stage.exchange {
                $0.method = "PUT"
                $0.body = BodySpec(.file(path: path))
            }
            #expect(throws: HTTPFailure.self) { try exchange.request.get() }
        }
    }
}

/// Something is not in the case that was expected.
struct Wrong: Error {}
