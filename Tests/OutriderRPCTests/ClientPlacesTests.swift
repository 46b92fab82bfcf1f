// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Testing

/// Which clients may be connected when places are short.
struct ClientPlacesTests {
    private var places = ClientPlaces(places: 2, patience: 10)

    @Test mutating func `a client is admitted while a place is free`() {
        #expect(places.enter("a", now: 0) == .admitted)
        #expect(places.enter("b", now: 0) == .admitted)
        #expect(places.enter("c", now: 9.9) == .refused)
        places.leave("a")
        #expect(places.enter("c", now: 9.9) == .admitted)
    }

    @Test mutating func `the oldest silent client gives way after its patience, one for one`() {
        _ = places.enter("a", now: 0)
        _ = places.enter("b", now: 5)
        #expect(places.enter("c", now: 10) == .admittedInstead(of: "a"))
        #expect(places.enter("d", now: 14.9) == .refused)
        #expect(places.enter("d", now: 15) == .admittedInstead(of: "b"))
        #expect(places.enter("e", now: 19) == .refused)
    }

    @Test mutating func `a client that has spoken never gives way`() {
        _ = places.enter("a", now: 0)
        _ = places.enter("b", now: 0)
        places.spoke("a")
        #expect(places.enter("c", now: 100) == .admittedInstead(of: "b"))
        places.spoke("c")
        #expect(places.enter("d", now: 1000) == .refused)
    }

    @Test mutating func `a client that gave way and leaves later frees no second place`() {
        _ = places.enter("a", now: 0)
        _ = places.enter("b", now: 0)
        #expect(places.enter("c", now: 10) == .admittedInstead(of: "a"))
        places.leave("a")
        places.spoke("a")
        #expect(places.enter("d", now: 10.5) == .admittedInstead(of: "b"))
        #expect(places.enter("e", now: 11) == .refused)
    }
}
