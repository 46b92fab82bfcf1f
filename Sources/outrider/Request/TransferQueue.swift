// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Carries the transfers of a command over one connection, one after the other or, with `--parallel`, several at a time.
/// Bodies on standard output keep the order of the URLs.
struct TransferQueue {
    /// Makes the transfer with that number, and the params of its request.
    typealias Maker = (Int) throws(CommandFailure) -> (transfer: RequestTransfer, params: JSONObject)

    /// How many transfers there are in all.
    let count: Int
    /// How many may be on the way at a time.
    let limit: Int
    let log: VerboseLog?
    /// Where long bodies get a connection of their own; nil for nowhere.
    private var door: ServiceDoor?
    /// Hears of each transfer that is over.
    let onEnd: (WriteOut.Outcome) throws(CommandFailure) -> Void

    private var begun = 0
    private var active: [Int: RequestTransfer] = [:]
    /// Which transfer a call belongs to.
    private var calls: [Int: Int] = [:]

    init(
        count: Int, limit: Int, log: VerboseLog?, door: ServiceDoor?,
        onEnd: @escaping (WriteOut.Outcome) throws(CommandFailure) -> Void
    ) {
        self.count = count
        self.limit = limit
        self.log = log
        self.door = door
        self.onEnd = onEnd
    }

    mutating func run(over client: inout ServiceClient, _ make: Maker) throws(CommandFailure) {
        if limit > 1 { try client.greet(by: Deadline(after: 10)) }
        do throws(CommandFailure) {
            while begun < count || !active.isEmpty {
                while begun < count, active.count < limit { try begin(over: &client, make) }
                if !calls.isEmpty { try hear(over: &client) }
            }
        } catch {
            for transfer in active.values { transfer.fail(error) }
            throw error
        }
    }

    private mutating func begin(over client: inout ServiceClient, _ make: Maker) throws(CommandFailure) {
        let number = begun
        begun += 1
        let made: (transfer: RequestTransfer, params: JSONObject)
        do throws(CommandFailure) {
            made = try make(number)
        } catch {
            return try onEnd(WriteOut.Outcome(failure: error, urlNumber: number))
        }
        active[number] = made.transfer
        try send(made.transfer.begin(made.params), of: made.transfer, over: &client)
    }

    private mutating func send(
        _ order: ServiceClient.Order, of transfer: RequestTransfer, over client: inout ServiceClient
    ) throws(CommandFailure) {
        calls[try client.send(order)] = transfer.number
    }

    /// Shows events.
    private var listener: ([UInt8]) throws(CommandFailure) -> Void {
        let (log, meters) = (log, active.values.compactMap(\.meter))
        return { (event) throws(CommandFailure) in
            log?.receive(event)
            for meter in meters { meter.receive(event) }
        }
    }

    /// Waits for a result, or until a transfer is too late.
    private mutating func hear(over client: inout ServiceClient) throws(CommandFailure) {
        let deadline = Deadline.earliest(of: active.values.map(\.deadline))
        guard let (id, reply) = try client.reply(by: deadline, onEvent: listener) else {
            return try giveUp(over: &client)
        }
        guard let number = calls.removeValue(forKey: id), let transfer = active[number] else { return }
        try advance(transfer, over: &client) { (hasTurn) throws(CommandFailure) in
            try transfer.take(try ServiceClient.object(of: reply), hasTurn: hasTurn)
        }
    }

    /// - Parameter step: the next step of the transfer; its argument tells whether standard output is free.
    private mutating func advance(
        _ transfer: RequestTransfer, over client: inout ServiceClient,
        _ step: (Bool) throws(CommandFailure) -> RequestTransfer.Step
    ) throws(CommandFailure) {
        var next: RequestTransfer.Step
        do throws(CommandFailure) {
            next = try step(active.keys.min() == transfer.number)
            if case .carry(let body) = next { next = try carry(body, of: transfer, over: &client) }
        } catch {
            if let order = transfer.again(after: error) { return try send(order, of: transfer, over: &client) }
            transfer.fail(error)
            return try end(transfer, over: &client)
        }
        switch next {
        case .call(let order): try send(order, of: transfer, over: &client)
        case .carry, .waitForTurn: break
        case .end: try end(transfer, over: &client)
        }
    }

    /// Takes the rest of a body over a connection of its own, or asks for its next piece where that cannot be.
    private mutating func carry(
        _ body: StreamedBody, of transfer: RequestTransfer, over client: inout ServiceClient
    ) throws(CommandFailure) -> RequestTransfer.Step {
        guard let door, let raw = RawBody(of: body, through: door, by: transfer.deadline) else {
            door = nil
            return transfer.readOn(body)
        }
        return try transfer.carry(raw, of: body, hearing: &client, onEvent: listener)
    }

    /// Ends a transfer, and gives standard output to the next transfer.
    private mutating func end(
        _ transfer: RequestTransfer, over client: inout ServiceClient
    ) throws(CommandFailure) {
        let hadTurn = active.keys.min() == transfer.number
        active[transfer.number] = nil
        transfer.meter?.end()
        try onEnd(transfer.outcome)
        guard hadTurn, let first = active.keys.min(), let waiting = active[first], waiting.isWaiting else { return }
        try advance(waiting, over: &client) { (_) throws(CommandFailure) in try waiting.resume() }
    }

    /// Gives up transfers that the service should have ended long ago.
    private mutating func giveUp(over client: inout ServiceClient) throws(CommandFailure) {
        for (id, number) in calls {
            guard let transfer = active[number], transfer.deadline.isOver else { continue }
            calls[id] = nil
            client.cancel(id)
            transfer.fail(CommandFailure(.timedOut, "no reply within the time allowed"))
            try end(transfer, over: &client)
        }
    }
}
