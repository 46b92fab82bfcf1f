// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderMethods

struct CallbackLineTests {
    /// A line to whose decisions a test can refer within an expectation.
    private final class Line {
        private var machine = CallbackLineMachine()

        /// With all places taken, by the callbacks 1, 2 and so on, of which so many are about reconnects.
        init(reconnects: Int = 0) {
            for id in 1...CallbackLineMachine.places { _ = machine.enter(id, isReconnect: id <= reconnects) }
        }

        func enter(_ id: Int, isReconnect: Bool = false) -> CallbackLineMachine.Entry {
            machine.enter(id, isReconnect: isReconnect)
        }

        func leave(isReconnect: Bool = false) -> Int? { machine.leave(isReconnect: isReconnect) }

        func giveUp(_ id: Int, ifStuck: Bool = false) -> CallbackLineMachine.Wait {
            machine.giveUp(id, ifStuck: ifStuck)
        }
    }

    @Test func `a freed place goes to the callback that came first`() {
        let line = Line()
        #expect(line.enter(101) == .waiting)
        #expect(line.enter(102) == .waiting)
        #expect(line.leave() == 101)
        #expect(line.leave() == 102)
        #expect(line.leave() == nil)
        #expect(line.enter(103) == .inside)
        #expect(line.enter(104) == .waiting)
    }

    @Test func `streams that reconnect have half of the places`() {
        let most = CallbackLineMachine.reconnectPlaces
        let line = Line(reconnects: most)
        #expect(line.enter(101, isReconnect: true) == .waiting)
        #expect(line.enter(102) == .waiting)
        // the place of another request is not for them
        #expect(line.leave() == 102)
        #expect(line.leave() == nil)
        #expect(line.leave(isReconnect: true) == 101)
        #expect(line.enter(103, isReconnect: true) == .waiting)
        #expect(line.enter(104) == .inside)
    }

    @Test func `a callback gives up early only if none has left meanwhile`() {
        let line = Line()
        #expect(line.enter(101) == .waiting)
        #expect(line.enter(102) == .waiting)
        #expect(line.giveUp(101, ifStuck: true) == .ends)
        #expect(line.giveUp(101) == .isOver)
        #expect(line.enter(103) == .waiting)
        #expect(line.enter(104) == .waiting)
        #expect(line.leave() == 102)
        #expect(line.giveUp(103, ifStuck: true) == .waits)
        // none has left since
        #expect(line.giveUp(103, ifStuck: true) == .ends)
        #expect(line.giveUp(104) == .ends)
        #expect(line.leave() == nil)
    }

    @Test func `the line has an end`() {
        let line = Line()
        let most = CallbackLineMachine.mostWaiting
        #expect((1...most).allSatisfy { line.enter(1000 + $0) == .waiting })
        #expect(line.enter(1001 + most) == .refused)
    }
}
