// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

@testable import OutriderHTTP

/// The arrivals of several pieces of input, one after the other.
struct AllArrivals {
    var records: [UInt8] = []
    var messages = 0
    var frames: [UInt8] = []
    var end: WebSocketEnd?

    mutating func receive(_ piece: UnsafeRawBufferPointer, _ machine: inout WebSocketMachine, mask: UInt32) {
        var arrivals = WebSocketArrivals()
        machine.received(piece, nextMask: { mask }, into: &arrivals)
        records += arrivals.records.bytes(in: piece)
        messages += arrivals.messages
        frames += arrivals.frames
        end = end ?? arrivals.end
    }
}
