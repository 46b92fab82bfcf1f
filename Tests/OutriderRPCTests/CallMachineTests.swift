// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

/// A machine in a box, because the expectations of a test cannot hold what cannot be copied.
final class Calls {
    private var machine: CallMachine

    init(callsInFlight: Int = 256, callbacks: Int = 64) {
        var limits = CallLimits()
        limits.callsInFlight = callsInFlight
        limits.callbacks = callbacks
        machine = CallMachine(limits: limits)
    }

    /// Starts a call that must not be refused.
    func run(_ id: RequestID?, place: BatchPlace? = nil) throws -> CallTicket {
        let start = machine.start(id, place: place)
        guard case .run(let ticket) = start else { throw Refused(start: start) }
        return ticket
    }

    func start(_ id: RequestID?) -> CallMachine.Start { machine.start(id) }
    func finished(_ ticket: CallTicket) -> CallMachine.Finish { machine.finished(ticket) }
    func cancel(_ id: RequestID, silently: Bool) -> CallTicket? { machine.cancel(id, silently: silently) }
    func replyID(_ id: RequestID?) -> RequestID? { machine.replyID(id) }
    /// Keeps a handle of the call. True if the call must be cancelled now.
    func isCancelled(_ ticket: CallTicket) -> Bool { machine.keep(.task(Task {}), ticket) }
    func isRunning(_ ticket: CallTicket) -> Bool {
        _ = isCancelled(ticket)
        return machine.call(ticket) != nil
    }
    var handles: Int { machine.handles.count }
    func callback(_ method: String) -> CallMachine.CallbackVerdict { machine.callback(method) }
    func replied(_ id: RequestID) -> Int64? { machine.replied(id) }
    func gaveUp(_ callback: Int64) -> Bool { machine.gaveUp(callback) }
    func hasAsked(_ id: RequestID) -> Bool { machine.hasAsked(id) }
    func shutDown() { machine.shutDown() }
    func stop() { machine.stop() }
    func inputEnded() -> [Int64] { machine.inputEnded() }
    func close() -> (calls: [CallTicket], callbacks: [Int64]) { machine.close() }
    var isIdle: Bool { machine.isIdle }
    var isShutDown: Bool { machine.isShutDown }
    var count: Int { machine.count }
    var owedReplies: Int { machine.owedReplies }

    struct Refused: Error {
        let start: CallMachine.Start
    }

    func refusal(_ id: RequestID?) -> (id: RequestID?, code: Int)? {
        guard case .refuse(let id, let error) = machine.start(id) else { return nil }
        return (id, error.code)
    }
}

struct CallMachineTests {
    @Test func `a call gets one reply, and its id is free afterwards`() throws {
        let calls = Calls()
        let ticket = try calls.run(.integer(1))
        #expect(calls.owedReplies == 1)
        #expect(calls.isRunning(ticket))
        #expect(calls.finished(ticket) == .reply(nil, cancelled: false))
        #expect(calls.finished(ticket) == .silent(nil))
        #expect(calls.owedReplies == 0)
        #expect(calls.isIdle)
        let next = try calls.run(.integer(1))
        #expect(next != ticket && next.slot == ticket.slot)
        // the slot belongs to the later call
        #expect(!calls.isRunning(ticket) && calls.isRunning(next))
        #expect(calls.finished(ticket) == .silent(nil))
        #expect(calls.isRunning(next))
    }

    @Test func `a running id is refused with a null id, and the first call is served all the same`() throws {
        let calls = Calls()
        let first = try calls.run(.integer(1))
        guard case .refuse(nil, let error) = calls.start(.integer(1)) else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == -32600)
        #expect(error.data?["id"] == .integer(1))
        _ = try calls.run(.string("1"))
        #expect(calls.finished(first) == .reply(nil, cancelled: false))
    }

    @Test func `ids in different normal forms are different ids`() throws {
        let calls = Calls()
        let composed = try calls.run(.string("\u{e9}"))
        let decomposed = try calls.run(.string("e\u{301}"))
        #expect(composed != decomposed && calls.refusal(.string("e\u{301}"))?.code == -32600)
        #expect(calls.cancel(.string("e\u{301}"), silently: false) == decomposed && !calls.isCancelled(composed))
    }

    @Test func `an error for an unparsable message does not use a running id`() throws {
        let calls = Calls()
        _ = try calls.run(.integer(1))
        #expect(calls.replyID(.integer(1)) == nil)
        #expect(calls.replyID(.integer(2)) == .integer(2))
        #expect(calls.replyID(nil) == nil)
    }

    @Test func `a notification never gets a reply`() throws {
        let calls = Calls()
        let ticket = try calls.run(nil)
        #expect(calls.owedReplies == 0)
        #expect(!calls.isIdle)
        #expect(calls.finished(ticket) == .silent(nil))
        #expect(calls.isIdle)
    }

    @Test func `too many calls at once are refused with their id, notifications left out`() throws {
        let calls = Calls(callsInFlight: 2)
        let first = try calls.run(.integer(1))
        _ = try calls.run(nil)
        let refusal = try #require(calls.refusal(.integer(3)))
        #expect(refusal.id == .integer(3))
        #expect(refusal.code == -32011)
        #expect(calls.start(nil) == .ignore)
        _ = calls.finished(first)
        _ = try calls.run(.integer(3))
    }

    @Test func `cancelling marks the call, and how it is replied to`() throws {
        let calls = Calls()
        let first = try calls.run(.integer(1))
        let second = try calls.run(.integer(2))
        #expect(calls.cancel(.integer(1), silently: false) == first)
        #expect(calls.cancel(.integer(2), silently: true) == second)
        #expect(calls.isCancelled(first))
        #expect(calls.finished(first) == .reply(nil, cancelled: true))
        #expect(calls.finished(second) == .silent(nil, isUnwanted: true))
        #expect(calls.cancel(.integer(1), silently: false) == nil)
        #expect(calls.cancel(.string("2"), silently: false) == nil)
    }

    @Test func `the place in a batch comes back with the outcome`() throws {
        let calls = Calls()
        let place = BatchPlace(batch: 3, slot: 1)
        #expect(calls.finished(try calls.run(.integer(1), place: place)) == .reply(place, cancelled: false))
        #expect(calls.finished(try calls.run(nil, place: place)) == .silent(place))
        let cancelled = try calls.run(.integer(2), place: place)
        _ = calls.cancel(.integer(2), silently: true)
        #expect(calls.finished(cancelled) == .silent(place, isUnwanted: true))
    }

    @Test func `after shutdown calls are refused, and running calls get their results`() throws {
        let calls = Calls()
        let ticket = try calls.run(.integer(1))
        calls.shutDown()
        #expect(calls.isShutDown)
        let refusal = try #require(calls.refusal(.integer(2)))
        #expect(refusal.id == .integer(2))
        #expect(refusal.code == -32600)
        #expect(calls.start(nil) == .ignore)
        #expect(calls.finished(ticket) == .reply(nil, cancelled: false))
    }

    @Test func `a stopping service says so`() throws {
        let calls = Calls()
        calls.stop()
        let refusal = try #require(calls.refusal(.integer(2)))
        #expect(refusal.code == -32017)
    }

    @Test func `after the end everything is silent`() throws {
        let calls = Calls()
        let first = try calls.run(.integer(1))
        let second = try calls.run(nil)
        guard case .send(let callback) = calls.callback("callback.x") else {
            Issue.record("not asked")
            return
        }
        #expect(calls.isRunning(first) && calls.handles == 1)
        let end = calls.close()
        // a handle that comes late, too
        #expect(calls.isCancelled(second) && calls.handles == 2)
        #expect(end.calls == [first, second])
        #expect(end.callbacks == [callback])
        #expect(calls.finished(first) == .silent(nil) && calls.handles == 1)
        #expect(calls.start(.integer(9)) == .ignore)
        guard case .refuse(let error) = calls.callback("callback.x") else {
            Issue.record("asked a closed connection")
            return
        }
        #expect(error.code == -32022)
    }
}

struct CallbackTests {
    @Test func `ids count up from a billion and one, and skip those of the client`() throws {
        let calls = Calls()
        for id in [1_000_000_001, 1_000_000_003] as [Int64] { _ = try calls.run(.integer(id)) }
        #expect(calls.callback("m") == .send(1_000_000_002))
        #expect(calls.callback("m") == .send(1_000_000_004))
    }

    @Test func `only the first reply to a callback counts`() {
        let calls = Calls()
        #expect(calls.callback("m") == .send(1_000_000_001))
        #expect(calls.replied(.string("1000000001")) == nil)
        #expect(calls.replied(.integer(1)) == nil)
        #expect(calls.replied(.integer(1_000_000_001)) == 1_000_000_001)
        #expect(calls.replied(.integer(1_000_000_001)) == nil)
        #expect(calls.gaveUp(1_000_000_001) == false)
        #expect(calls.hasAsked(.integer(1_000_000_001)))
        #expect(!calls.hasAsked(.integer(1_000_000_002)) && !calls.hasAsked(.integer(1_000_000_000)))
        #expect(!calls.hasAsked(.string("1000000001")))
    }

    @Test func `a reply after giving up is ignored`() {
        let calls = Calls()
        #expect(calls.callback("m") == .send(1_000_000_001))
        #expect(calls.gaveUp(1_000_000_001))
        #expect(calls.replied(.integer(1_000_000_001)) == nil)
    }

    @Test func `a client that ended its input can reply to nothing`() {
        let calls = Calls()
        #expect(calls.callback("m") == .send(1_000_000_001))
        #expect(calls.inputEnded() == [1_000_000_001])
        #expect(calls.inputEnded() == [])
        guard case .refuse(let error) = calls.callback("callback.x") else {
            Issue.record("asked")
            return
        }
        #expect(error.code == -32022)
        #expect(error.data?["method"] == .string("callback.x"))
    }

    @Test func `too many callbacks are refused`() {
        let calls = Calls(callbacks: 2)
        #expect(calls.callback("m") == .send(1_000_000_001))
        #expect(calls.callback("m") == .send(1_000_000_002))
        guard case .refuse(let error) = calls.callback("m") else {
            Issue.record("asked")
            return
        }
        #expect(error.code == -32011)
        let remedy = "reply to earlier callbacks first, or send fewer requests with callbacks at a time"
        #expect(error.message == "at most 2 callbacks may wait on a connection: \(remedy)")
        _ = calls.replied(.integer(1_000_000_001))
        #expect(calls.callback("m") == .send(1_000_000_003))
    }
}

struct CallPromiseTests {
    /// Plays a client and the methods at random, and counts.
    @Test(arguments: 0..<20)
    func `whatever happens, every call gets exactly one reply or was silenced`(_ round: Int) {
        var random = SystemRandomNumberGenerator()
        let calls = Calls(callsInFlight: 8)
        var running: [(ticket: CallTicket, id: RequestID?)] = []
        var owed: [RequestID: Int] = [:]
        var replies: [RequestID: Int] = [:]
        var silenced: Set<RequestID> = []
        var faults: [String] = []
        // One expectation at the end: thousands of them are slow.
        func hold(_ promise: Bool, _ what: String) { if !promise { faults.append(what) } }
        for step in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let id: RequestID? =
                    Bool.random(using: &random) ? .integer(Int64.random(in: 0..<12, using: &random)) : nil
                let wasRunning = id.map { id in running.contains { $0.id == id } } ?? false
                switch calls.start(id) {
                case .run(let ticket):
                    hold(!wasRunning, "two calls with one id")
                    running.append((ticket, id))
                    if let id { owed[id, default: 0] += 1 }
                case .refuse(let refused, _):
                    hold(wasRunning == (refused == nil), "id of a refusal")
                    if let refused {
                        owed[refused, default: 0] += 1
                        replies[refused, default: 0] += 1
                    }
                case .ignore: hold(id == nil, "a call ignored")
                }
            case 4..<7:
                guard let index = running.indices.randomElement(using: &random) else { continue }
                let (ticket, id) = running.remove(at: index)
                switch calls.finished(ticket) {
                case .reply:
                    hold(id != nil, "a notification got a reply")
                    if let id { replies[id, default: 0] += 1 }
                case .silent:
                    if let id {
                        hold(silenced.contains(id), "a call without a reply")
                        replies[id, default: 0] += 1
                    }
                }
                if let id { silenced.remove(id) }
            case 7:
                let id = RequestID.integer(Int64.random(in: 0..<12, using: &random))
                let silently = Bool.random(using: &random)
                let hit = calls.cancel(id, silently: silently)
                hold(hit == running.first { $0.id == id }?.ticket, "wrong call cancelled")
                if hit != nil { if silently { silenced.insert(id) } else { silenced.remove(id) } }
            case 8:
                if case .send(let callback) = calls.callback("m") {
                    hold(!running.contains { $0.id == .integer(callback) }, "id of a callback")
                    if Bool.random(using: &random) { _ = calls.replied(.integer(callback)) }
                }
            default: if step == 350 { calls.shutDown() }
            }
            hold(calls.count == running.count, "count")
            hold(calls.owedReplies == running.count { $0.id != nil }, "owed replies")
        }
        for (ticket, id) in running {
            _ = calls.finished(ticket)
            if let id { replies[id, default: 0] += 1 }
        }
        #expect(faults == [])
        #expect(calls.isIdle)
        #expect(owed == replies)
    }
}
