// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Asking once for many.
@Suite struct SharedCallbackMachineTests {
    private typealias Machine = SharedCallbackMachine

    private static func space(_ realm: String = "a") throws -> ProtectionSpace {
        ProtectionSpace(.origin, of: try HTTPURL(parsing: "http://127.0.0.1/"), realm: realm)
    }

    private static func shown(_ step: Machine.Step) -> String {
        switch step {
        case .call: "ask"
        case .wait: "wait"
        case .take(let given): shown(given)
        }
    }

    private static func shown(_ given: CallbackCredential?) -> String { given?.credential.password ?? "nothing" }

    private static func given(_ password: String) -> CallbackCredential {
        CallbackCredential(UserCredential("ada", password), isKept: true)
    }

    private static let wrong = given("wrong")

    @Test func `the first request calls, the others wait, and all of them are told [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        let steps = (1...3).map { Self.shown(machine.wants($0, space, sentAt: 0, now: 1)) }
        #expect(steps == ["ask", "wait", "wait"])
        let (waiting, given) = machine.replied(space, Self.given("ada"), now: 2)
        #expect(waiting == [2, 3] && Self.shown(given) == "ada")
    }

    @Test func `each realm and each origin has a callback of its own [M15]`() throws {
        var machine = Machine()
        let other = ProtectionSpace(.origin, of: try HTTPURL(parsing: "http://127.0.0.1:81/"), realm: "a")
        let spaces = [try Self.space(), try Self.space("b"), other]
        let steps = spaces.enumerated().map { Self.shown(machine.wants($0.offset, $0.element, sentAt: 0, now: 1)) }
        #expect(steps == ["ask", "ask", "ask"])
    }

    @Test func `a request sent before the reply takes it, a later request calls [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        _ = machine.wants(1, space, sentAt: 0, now: 1)
        _ = machine.replied(space, Self.given("ada"), now: 2)
        #expect(Self.shown(machine.wants(2, space, sentAt: 1.9, now: 3)) == "ada")
        #expect(Self.shown(machine.wants(3, space, sentAt: 2.1, now: 3)) == "ask")
    }

    @Test func `a request that sends a refused password late takes the next password [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        let refused = Self.wrong.credential
        for id in 1...3 { _ = machine.wants(id, space, sentAt: 0, now: 1) }
        _ = machine.replied(space, Self.wrong, now: 2)
        #expect(Self.shown(machine.wants(4, space, sentAt: 2.1, refused: refused, now: 3)) == "ask")
        _ = machine.replied(space, Self.given("ada"), refused: refused, now: 4)
        #expect(Self.shown(machine.wants(5, space, sentAt: 4.1, refused: refused, now: 5)) == "ada")
        let other = UserCredential("ada", "its own")
        #expect(Self.shown(machine.wants(6, space, sentAt: 4.1, refused: other, now: 5)) == "ask")
        #expect(machine.replied(space, Self.given("new"), refused: other, now: 6).waiting == [])
        #expect(Self.shown(machine.wants(7, space, sentAt: 6.1, refused: other, now: 7)) == "ask")
    }

    @Test func `after a refused password one new callback serves all requests [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        _ = machine.wants(1, space, sentAt: 0, now: 1)
        _ = machine.wants(2, space, sentAt: 0, now: 1)
        _ = machine.replied(space, Self.given("wrong"), now: 2)
        let refused = Self.wrong.credential
        #expect(Self.shown(machine.wants(1, space, sentAt: 2.1, refused: refused, now: 3)) == "ask")
        #expect(machine.replied(space, Self.given("right"), refused: refused, now: 4).waiting == [])
        #expect(Self.shown(machine.wants(2, space, sentAt: 2.2, refused: refused, now: 5)) == "right")
    }

    @Test func `a password that is given again though it was refused is not tried by other requests [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        let refused = Self.wrong.credential
        _ = machine.wants(1, space, sentAt: 0, now: 1)
        _ = machine.replied(space, Self.wrong, now: 2)
        // one took it at once, and is sent only later
        #expect(Self.shown(machine.wants(2, space, sentAt: 0, now: 2.1)) == "wrong")
        #expect(Self.shown(machine.wants(1, space, sentAt: 2.2, refused: refused, now: 3)) == "ask")
        #expect(Self.shown(machine.wants(3, space, sentAt: 0, now: 3.1)) == "wait")
        let (waiting, given) = machine.replied(space, Self.wrong, refused: refused, now: 4)
        #expect(waiting == [3] && given == nil)
        #expect(Self.shown(machine.wants(4, space, sentAt: 0, now: 4.1)) == "nothing")
        #expect(Self.shown(machine.wants(2, space, sentAt: 4.2, refused: refused, now: 5)) == "nothing")
        // a new request may be told something else, or that it has become right
        #expect(Self.shown(machine.wants(5, space, sentAt: 6, now: 7)) == "ask")
        _ = machine.wants(6, space, sentAt: 6, now: 7)
        #expect(Self.shown(machine.replied(space, Self.wrong, now: 8).given) == "wrong")
    }

    @Test func `when the calling request gives up, the next request calls [M15]`() throws {
        var machine = Machine()
        let space = try Self.space()
        for id in 1...4 { _ = machine.wants(id, space, sentAt: 0, now: 1) }
        #expect(machine.gaveUp(2, space) == nil)
        #expect(machine.gaveUp(1, space) == 3)
        #expect(machine.replied(space, Self.given("ada"), now: 2).waiting == [4])
        #expect(machine.gaveUp(9, space) == nil)
    }

    @Test func `a late request calls itself when no request is left that knows that the credential was wrong [M15]`()
        throws
    {
        var machine = Machine()
        let space = try Self.space()
        _ = machine.wants(1, space, sentAt: 0, now: 1)
        _ = machine.replied(space, Self.wrong, now: 2)
        #expect(Self.shown(machine.wants(1, space, sentAt: 3, refused: Self.wrong.credential, now: 4)) == "ask")
        #expect(machine.gaveUp(1, space) == nil)
        #expect(Self.shown(machine.wants(2, space, sentAt: 1, now: 5)) == "ask")
    }

    @Test func `credentials are forgotten after a while, and there are never many`() throws {
        var machine = Machine()
        let space = try Self.space()
        _ = machine.wants(1, space, sentAt: 0, now: 0)
        _ = machine.replied(space, Self.given("ada"), now: 1)
        #expect(Self.shown(machine.wants(2, space, sentAt: 0, now: Machine.patience + 2)) == "ask")
        _ = machine.gaveUp(2, space)
        for number in 0...Machine.mostKept {
            let one = try Self.space("realm \(number)")
            _ = machine.wants(number, one, sentAt: 0, now: 1000)
            _ = machine.replied(one, Self.given("ada"), now: 1000 + Double(number) / 1000)
        }
        #expect(Self.shown(machine.wants(7, try Self.space("realm 0"), sentAt: 0, now: 1001)) == "ask")
        #expect(Self.shown(machine.wants(8, try Self.space("realm 1"), sentAt: 0, now: 1001)) == "ada")
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `in any order of events one request calls at a time, and none waits for nothing [M15]`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var machine = Machine()
        let space = try Self.space()
        var calling: Int?
        var waiting: Set<Int> = []
        for id in 0..<20_000 {
            let now = Double(id)
            switch Int.random(in: 0..<5, using: &random) {
            case 0...1:
                switch machine.wants(id, space, sentAt: now - Double.random(in: 0...9, using: &random), now: now) {
                case .call:
                    #expect(calling == nil)
                    calling = id
                case .wait:
                    #expect(calling != nil)
                    waiting.insert(id)
                case .take: #expect(calling == nil)
                }
            case 2:
                guard calling != nil else { continue }
                #expect(Set(machine.replied(space, Self.given("\(id)"), now: now).waiting) == waiting)
                (calling, waiting) = (nil, [])
            case 3:
                guard let id = calling else { continue }
                calling = machine.gaveUp(id, space)
                #expect((calling == nil) == waiting.isEmpty)
                if let calling { #expect(waiting.remove(calling) != nil) }
            default:
                guard let id = waiting.randomElement(using: &random) else { continue }
                waiting.remove(id)
                #expect(machine.gaveUp(id, space) == nil)
            }
        }
    }
}
