// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Windows, floods, silence and ends of a connection.
struct HTTP2ConnectionTests {
    private static let ok = (":status", "200")

    private func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    // MARK: windows

    @Test func `bytes are sent within both windows, in turns, and the rest when they open`() {
        let bench = HTTP2Bench(settings: [(.initialWindowSize, 20_000)])
        guard let one = bench.begin("PUT", hasBody: true), let two = bench.begin("PUT", hasBody: true) else { return }
        bench.machine.bodyReady(one, 50_000, isLast: true)
        bench.machine.bodyReady(two, 5000, isLast: true)
        #expect(bench.nextData() == HTTP2DataTurn(stream: one, bytes: 16_384, isLast: false))
        #expect(bench.nextData() == HTTP2DataTurn(stream: two, bytes: 5000, isLast: true))
        #expect(bench.nextData() == HTTP2DataTurn(stream: one, bytes: 3616, isLast: false))
        #expect(bench.nextData() == nil)
        // the window becomes negative, and opens again
        bench.writer.settings([(.initialWindowSize, 10_000)])
        bench.raw(.windowUpdate, 0, 1, bytes(10_000))
        bench.flow()
        #expect(bench.nextData() == nil)
        bench.raw(.windowUpdate, 0, 1, bytes(1_000_000))
        bench.flow()
        var sent = 0
        while let turn = bench.nextData() { sent += turn.bytes }
        #expect(sent == 30_000)
    }

    @Test func `the window of the connection holds all streams, but not an empty end`() {
        let bench = HTTP2Bench(settings: [(.initialWindowSize, 1 << 20)])
        guard let one = bench.begin("PUT", hasBody: true), let two = bench.begin("PUT", hasBody: true) else { return }
        bench.machine.bodyReady(one, 100_000, isLast: true)
        bench.machine.bodyReady(two, 0, isLast: true)
        var sent = 0
        var ends: [UInt32] = []
        while let turn = bench.nextData() {
            sent += turn.bytes
            if turn.isLast { ends.append(turn.stream.number) }
        }
        #expect(sent == 65_535 && ends == [3])
        bench.raw(.windowUpdate, 0, 0, bytes(100_000))
        bench.flow()
        while let turn = bench.nextData() { sent += turn.bytes }
        #expect(sent == 100_000)
    }

    @Test func `low streams give way`() {
        let bench = HTTP2Bench(settings: [(.initialWindowSize, 1 << 20)])
        guard let low = bench.begin("PUT", hasBody: true, priority: .low), let high = bench.begin("PUT", hasBody: true)
        else { return }
        bench.machine.bodyReady(low, 20_000, isLast: true)
        bench.machine.bodyReady(high, 20_000, isLast: true)
        var order: [UInt32] = []
        while let turn = bench.nextData() { order.append(turn.stream.number) }
        #expect(order == [3, 3, 1, 1])
    }

    @Test func `a reader that keeps up gets larger windows, within the reserve, and one that pauses does not`() {
        let bench = HTTP2Bench(reserve: HTTP2WindowReserve(most: 1 << 20))
        guard let id = bench.begin() else { return }
        bench.head(1, [Self.ok])
        bench.flow()
        _ = bench.sent()
        var credit = 0
        for _ in 0..<256 {
            bench.data(1, [UInt8](repeating: 0, count: 16_384))
            bench.flow()
            bench.machine.consumed(id, 16_384)
            for frame in bench.sent() where frame.head.stream == 1 {
                credit += Int(frame.payload.withUnsafeBytes { $0.number(at: 0) })
            }
        }
        #expect(bench.machine.streams[id]?.receive.size == 1 << 20)
        #expect(credit == 256 * 16_384 + (512 << 10))
        // the reserve has room for the first growth only: given back with the end of the stream
        #expect(!bench.reserve.lend(1 << 20))
        bench.data(1, [], end: true)
        bench.flow()
        #expect(bench.reserve.lend(1 << 20))
    }

    @Test func `a peer that sends more than a paused stream takes is stopped`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.head(1, [Self.ok])
        for _ in 0..<16 { bench.data(1, [UInt8](repeating: 0, count: 16_384)) }
        bench.flow()
        #expect(!bench.isClosed)
        bench.data(1, [1])
        bench.flow()
        #expect(bench.took().closed?.code == .flowControlError)
    }

    // MARK: rules of the connection

    @Test(arguments: [
        "000000 0000 00000000", "000000 0104 00000000", "000004 0800 00000000 00000000",
        "000004 0800 00000000 80000000",
        "000005 0800 00000000 0000000001", "000004 0300 00000000 00000000", "000004 0300 00000003 00000000",
        "000000 0104 00000002", "000004 0504 00000001 00000002", "000008 0600 00000001 0000000000000000",
        "000007 0600 00000000 00000000000000", "000001 0400 00000000 00", "000000 0400 00000001",
        "000006 0401 00000000 000400000001", "000006 0400 00000000 000480000000", "000006 0400 00000000 000200000001",
        "000006 0400 00000000 000500000001", "000006 0400 00000000 0005ffffffff", "000004 0700 00000000 00000000",
        "000004 0200 00000001 00000000", "000000 0904 00000001", "000001 0100 00000001 88 000000 0600 00000000",
        "000001 0100 00000001 88 000001 0904 00000003 88", "000001 0108 00000001 05", "000003 0124 00000001 000000",
        "00000b 0104 00000001 ffffffffffffffffffffff", "004001 0000 00000001", "000004 0800 00000000 7fffffff",
        "000001 0008 00000001 01",
    ])
    func `a broken rule ends the connection and every stream once`(hex: String) {
        let bench = HTTP2Bench()
        bench.begin()
        HTTP2FrameTexts.bytes(hex).withUnsafeBytes { bench.writer.output.append($0) }
        bench.flow()
        let events = bench.took()
        #expect(events.closed != nil && events.failure?.kind == .malformedResponse)
        #expect(bench.isClosed)
        #expect(bench.kinds().last == .goAway)
    }

    @Test func `SETTINGS come first, and within ten seconds`() {
        var machine = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0)
        let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
        _ = ping.withUnsafeBytes { machine.received($0, now: 0) }
        #expect(machine.nextEvent() == .close(HTTP2Fault(.protocolError, "no SETTINGS in front")))
        var old = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0)
        _ = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).withUnsafeBytes { old.received($0, now: 0) }
        #expect(old.nextEvent() == .close(HTTP2Fault(.protocolError, "the server speaks HTTP/1")))
        var other = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0)
        other.timePassed(9)
        #expect(other.nextEvent() == nil)
        other.timePassed(10)
        #expect(other.nextEvent() == .close(HTTP2Fault(.settingsTimeout, "the server sent no SETTINGS")))
    }

    @Test(arguments: [(0, 0, false), (0x7FFF_FFFF, 0, false), (1, 11, false), (1, 0, true)])
    func `only a GOAWAY in order that names processed streams ends a connection after others`(
        last: UInt32, code: UInt32, isAfterOthers: Bool
    ) {
        let bench = HTTP2Bench()
        bench.raw(.goAway, 0, 0, bytes(last) + bytes(code))
        bench.flow()
        // no request of others was there
        let early = bench.machine.endsAfterOthers
        #expect(!early)
        let other = HTTP2Bench()
        other.begin()
        other.raw(.goAway, 0, 0, bytes(last) + bytes(code))
        other.flow()
        let late = other.machine.endsAfterOthers
        #expect(late == isAfterOthers)
    }

    @Test(arguments: [(2, 2), (500, 100)])
    func `the capacity before the settings is that of another connection`(known: Int, capacity: Int) {
        var machine = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0, known: known)
        let before = machine.capacity
        let event = machine.nextEvent()
        #expect(before == capacity && event == nil)
    }

    @Test func `capacity follows the settings, and may be zero`() {
        let bench = HTTP2Bench(settings: [(.maxConcurrentStreams, 2)])
        #expect(bench.capacity == 2)
        bench.begin()
        bench.begin()
        #expect(bench.begin() == nil)
        bench.writer.settings([(.maxConcurrentStreams, 0)])
        bench.flow()
        #expect(bench.took() == [.capacity(0)])
        bench.writer.settings([(.maxConcurrentStreams, 5000)])
        bench.flow()
        #expect(bench.took() == [.capacity(1000)])
        #expect(bench.begin()?.number == 5)
    }

    @Test(arguments: [
        HTTP2FrameKind.ping, .settings, .priority, .resetStream, HTTP2FrameKind(rawValue: 99), .data, .windowUpdate,
    ])
    func `a flood of frames that carry nothing ends the connection`(kind: HTTP2FrameKind) {
        let bench = HTTP2Bench()
        for _ in 0..<60 { bench.begin() }
        bench.head(1, [Self.ok])
        bench.flow()
        for number in 0..<1200 {
            switch kind {
            case .data: bench.raw(.data, 0, 1, [])
            case .windowUpdate: bench.raw(kind, 0, 1, bytes(1))
            case .ping: bench.raw(kind, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7])
            case .settings: bench.writer.settings([(.maxHeaderListSize, UInt32(number))])
            case .resetStream: bench.raw(kind, 0, 1, bytes(8))
            default: bench.raw(kind, 0, 1, [0, 0, 0, 0, 0])
            }
            bench.flow()
            // acknowledgements are written, so that only the budget counts
            _ = bench.sent()
        }
        #expect(bench.took().closed?.code == .enhanceYourCalm)
    }

    @Test func `acknowledgements that are not read end the connection`() {
        let bench = HTTP2Bench()
        for _ in 0..<101 { bench.raw(.ping, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7]) }
        bench.flow()
        #expect(bench.took().closed?.code == .enhanceYourCalm)
    }

    @Test func `acknowledgements are read although another write is always under way`() {
        let bench = HTTP2Bench()
        guard let id = bench.begin() else { return }
        bench.head(1, [Self.ok])
        var underWay = 0
        for _ in 0..<500 {
            bench.data(1, [UInt8](repeating: 0, count: 16_384))
            bench.raw(.ping, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7])
            bench.flow()
            bench.machine.consumed(id, 16_384)
            let acks = bench.machine.unsentAcks
            #expect(acks == 1)
            bench.machine.takeOutput { _ in }
            bench.machine.written(underWay)
            underWay = acks
            _ = bench.took()
        }
        #expect(!bench.isClosed)
    }

    @Test func `honest bandwidth probing costs nothing in the end`() {
        let bench = HTTP2Bench()
        guard let id = bench.begin() else { return }
        bench.head(1, [Self.ok])
        bench.flow()
        for _ in 0..<5000 {
            bench.data(1, [UInt8](repeating: 0, count: 16_384))
            bench.raw(.ping, 0, 0, [0, 1, 2, 3, 4, 5, 6, 7])
            bench.flow()
            bench.machine.consumed(id, 16_384)
            _ = bench.sent()
            _ = bench.took()
        }
        #expect(!bench.isClosed)
    }

    @Test func `fields that go on for ever end the connection`() {
        for (size, most) in [(10, 17), (16_384, 4)] {
            let bench = HTTP2Bench()
            bench.begin()
            bench.raw(.headers, 0, 1, [0x88])
            for _ in 0..<most { bench.raw(.continuation, 0, 1, [UInt8](repeating: 0x88, count: size)) }
            bench.flow()
            #expect(bench.took().closed?.code == .enhanceYourCalm)
        }
    }

    // MARK: ends

    @Test func `GOAWAY lets streams finish that the server has seen, and gives the others back`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.begin()
        bench.raw(.goAway, 0, 0, bytes(0x7FFF_FFFF) + bytes(0))
        bench.flow()
        #expect(bench.took() == [.capacity(0)])
        bench.raw(.goAway, 0, 0, bytes(1) + bytes(11) + Array("calm".utf8))
        bench.flow()
        #expect(bench.took().broke == .unprocessed(HTTP2Fault(.enhanceYourCalm, "calm")))
        #expect(bench.begin() == nil)
        bench.head(1, [Self.ok], end: true)
        bench.flow()
        let events = bench.took()
        #expect(events.ended == 1 && events.last == .close(nil))
        #expect(bench.kinds().last == .goAway)
    }

    @Test func `a connection that ends tells each stream how far it was`() {
        let bench = HTTP2Bench()
        for _ in 0..<4 { bench.begin() }
        bench.head(5, [Self.ok])
        bench.head(7, [(":status", "103")])
        bench.flow()
        _ = bench.took()
        bench.machine.closed()
        let ends = bench.took().compactMap {
            if case .broke(_, .lost(nil, let progress)) = $0 { progress } else { nil }
        }
        #expect(ends == [.beforeResponse(replayable: false), .beforeResponse(replayable: true), .inBody, .inHead])
    }

    @Test func `a cancelled stream is reset, its late frames cost nothing, and a short rest is read instead`() {
        let bench = HTTP2Bench()
        guard let one = bench.begin(), let two = bench.begin() else { return }
        bench.head(1, [Self.ok, ("content-length", "1000000")])
        bench.head(3, [Self.ok, ("content-length", "60000")])
        bench.flow()
        _ = bench.sent()
        bench.machine.cancel(one, now: 0)
        bench.machine.cancel(two, now: 0)
        #expect(bench.kinds() == [.resetStream])
        #expect(bench.openStreams == 1)
        _ = bench.took()
        for _ in 0..<20 { bench.data(1, [UInt8](repeating: 0, count: 16_000)) }
        bench.data(3, [UInt8](repeating: 0, count: 16_000))
        bench.flow()
        #expect(bench.took().isEmpty && bench.openStreams == 1)
        bench.machine.timePassed(6)
        #expect(bench.kinds().contains(.resetStream) && bench.openStreams == 0)
    }

    @Test func `after many resets the connection drains`() {
        let bench = HTTP2Bench()
        for _ in 0..<99 { if let id = bench.begin() { bench.machine.cancel(id, now: 1) } }
        #expect(bench.capacity > 0)
        if let id = bench.begin() { bench.machine.cancel(id, now: 1) }
        #expect(bench.capacity == 0)
        #expect(bench.took().last == .close(nil))
    }

    @Test func `an idle connection sends nothing and drains at once`() {
        let bench = HTTP2Bench()
        for now in 1...100 { bench.machine.timePassed(Double(now)) }
        #expect(bench.kinds().isEmpty)
        bench.machine.drain()
        #expect(bench.took() == [.capacity(0), .close(nil)])
        #expect(bench.kinds() == [.goAway])
    }
}

/// Bytes as they stand in tests: hexadecimal digits with spaces.
enum HTTP2FrameTexts {
    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
