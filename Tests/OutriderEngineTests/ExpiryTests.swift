// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderHTTP
import Synchronization
import Testing

@testable import OutriderEngine

/// The ends of what is kept for a while.
struct ExpiryTests {
    private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    @Test func `work is taken in its order, once it is due`() {
        var line = ExpiryLine<Int>()
        for number in 1...5 { _ = line.add(number, due: Self.time(Int64(number))) }
        let early = line.take(at: Self.time(0), most: 9)
        let first = line.take(at: Self.time(3), most: 2)
        let next = line.nextDue
        let rest = line.take(at: Self.time(9), most: 9)
        let last = line.nextDue
        #expect(early == [] && first == [1, 2] && rest == [3, 4, 5])
        #expect(next == Self.time(3) && last == nil && line.count == 0)
    }

    @Test func `removed work is never taken`() {
        var line = ExpiryLine<Int>()
        let numbers = (1...4).map { line.add($0, due: Self.time(Int64($0))) }
        let removed = [line.remove(numbers[0]), line.remove(numbers[2]), line.remove(numbers[0])]
        #expect(removed == [1, 3, nil] && line.count == 2)
        let next = line.nextDue
        let taken = line.take(at: Self.time(9), most: 9)
        let late = line.remove(numbers[1])
        #expect(next == Self.time(2) && taken == [2, 4] && late == nil)
    }

    @Test func `the order holds however much was removed meanwhile`() {
        var line = ExpiryLine<Int>()
        var kept: [Int] = []
        for number in 0..<10_000 {
            let place = line.add(number, due: Self.time(Int64(number)))
            if number % 100 == 0 { kept.append(number) } else { _ = line.remove(place) }
        }
        #expect(line.count == kept.count && line.places <= 2 * kept.count + 64)
        let taken = line.take(at: Self.time(10_000), most: .max)
        #expect(taken == kept && line.places == 0)
    }

    @Test func `one timer runs all work in its order, and none that was dropped`() async {
        let (numbers, last) = AsyncStream.makeStream(of: Int.self)
        let expiries = Expiries(seconds: 0.1, LoopExecutors(MultiThreadedEventLoopGroup.singleton))
        var held: [Expiry] = []
        for number in 0..<1000 {
            let expiry = expiries.add { last.yield(number) }
            if number % 2 == 0 { held.append(expiry) }
        }
        #expect(expiries.count <= 500)
        var seen: [Int] = []
        for await number in numbers {
            seen.append(number)
            if number == 998 { break }
        }
        #expect(seen == Array(stride(from: 0, to: 1000, by: 2)))
        #expect(expiries.count == 0)
        // the next entry sets the timer again
        let again = expiries.add { last.yield(1000) }
        for await number in numbers {
            #expect(number == 1000)
            break
        }
        withExtendedLifetime((held, again)) {}
    }
}
