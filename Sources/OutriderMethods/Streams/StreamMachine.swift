// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Decides when items flow to a client, and in which pieces.
///
///     open ──source ended──▶ ended ──all delivered──▶ done
///       └──────────────close──┴──────────────────────▶ done
///
/// A push stream sends items while it has credit, and fetches the next chunk of its source when it holds no whole item.
/// Bytes and text are cut to the credit. Other items may exceed the remaining credit; the excess is subtracted from the
/// next credit. A pull stream holds up to `readAhead` bytes and one chunk.
/// Responsible for: pieces, their numbers and offsets; how much is held. Not for sources, items and events.
package struct StreamMachine: ~Copyable {
    /// The most bytes in an event, unless a single item is longer; the event's line then stays under 64 KiB.
    package static let chunkBytes = 32768
    /// The most JSON for the items of an event, for the same reason.
    package static let writtenBytes = 49152
    /// Bytes that a pull stream reads ahead.
    package static let readAhead = 65536
    /// The most credit that can accumulate: 2^53.
    package static let creditLimit = 9_007_199_254_740_992

    package enum Mode: Sendable, Equatable {
        case push(credit: Int)
        case pull
    }

    private enum Phase { case open, ended, done }

    package let isPush: Bool
    package let isBatched: Bool
    private let endsOnError: Bool
    private let budget: ItemBudget
    /// The longest item, in written bytes, that the client can read.
    private let longest: Int
    private var phase = Phase.open
    private var isBegun = false
    /// Bytes that a read waits for; 1 if none waits.
    package var wanted = 1
    private var isBodyOver = false
    private var contentType: String?
    private var scanner: any ItemScanner
    /// The scanner before `becomeRaw`, and its bytes; nil once bytes went to the second connection.
    private var beforeRaw: (any ItemScanner, Int)?
    private var isRaw = false
    /// An item that did not fit into a message behind others.
    private var pending: StreamItem?
    /// A long item that is being built; the items behind it wait.
    private var unmade: StreamItem?
    private var credit = 0
    private var isCreditFinal = false
    /// Whether the client said how much it takes.
    private var hasLimit = false
    private var offset = 0
    private var sequence = 0
    /// Bytes received from the source.
    package private(set) var fed = 0
    /// The total size, if known: the last piece then says that it is the last.
    private var size: Int?
    /// Why the stream ended early.
    package private(set) var failure: HTTPFailure?
    /// A read had the end as its result: reads that waited behind it have the same.
    private var hasReadEnd = false

    /// - Parameters:
    ///   - isBatched: whether an event may hold several items; a read always may.
    ///   - endsOnError: whether a failed item is the last.
    ///   - longest: the longest message that the client can read, in bytes.
    package init(
        _ mode: Mode, _ scanner: any ItemScanner = ByteItems(), isBatched: Bool = false, endsOnError: Bool = false,
        longest: Int? = nil
    ) {
        self.scanner = scanner
        self.isBatched = isBatched
        self.endsOnError = endsOnError
        // room for the other members of an event
        self.longest = max(64, (longest ?? .max) &- 512)
        budget = ItemBudget(bytes: Self.chunkBytes, written: min(Self.writtenBytes, self.longest))
        isPush = mode != .pull
        if case .push(let credit) = mode {
            self.credit = credit
            hasLimit = credit > 0
        }
    }

    // MARK: the source

    /// A body begins. Throws the failure if the scanner rejects the body, which ends the stream.
    package mutating func begin(contentType: String?, size: Int? = nil) throws(HTTPFailure) {
        guard phase == .open else { return }
        isBegun = true
        isBodyOver = false
        self.contentType = contentType
        self.size = scanner.isContinuous ? size.map { $0 &+ fed } : nil
        do throws(HTTPFailure) {
            // the records of a former connection of a WebSocket stay
            if !isRaw { try scanner.begin(contentType: contentType) }
        } catch {
            sourceEnded(error)
            throw error
        }
    }

    package mutating func feed(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        fed &+= bytes.count
        scanner.feed(bytes)
    }

    /// The body is over; another body may begin.
    package mutating func bodyEnded() {
        guard phase == .open else { return }
        isBodyOver = true
        scanner.end()
    }

    /// Nothing more will come; or after that, the client cancels what waits for its credit.
    package mutating func sourceEnded(_ failure: HTTPFailure? = nil) {
        guard phase == .open || (phase == .ended && isPush && failure?.kind.isEnd == true && hasItem()) else { return }
        phase = .ended
        self.failure = self.failure ?? failure
        // items without credit would hold up the end of a stream that was cancelled, or whose time is over
        if isPush, failure?.kind.isEnd == true { drop() }
        isCreditFinal = isCreditFinal || failure?.phase == .total
    }

    /// Reads all received bytes as other items, if nothing was delivered yet. False if too late.
    package mutating func become(_ other: any ItemScanner) -> Bool {
        guard offset == 0, sequence == 0, scanner is ByteItems else { return false }
        var other = other
        do throws(HTTPFailure) {
            try other.begin(contentType: contentType)
            if let item = try scanner.next(within: ItemBudget(bytes: .max)), case .data(let bytes) = item.content {
                other.feed(bytes)
            }
            if isBodyOver { other.end() }
        } catch {
            sourceEnded(error)
            drop()
            return true
        }
        if !other.isContinuous { size = nil }
        scanner = other
        return true
    }

    /// Gives the bytes behind the items to a second connection from now on. False if items were taken before, or if the
    /// items have no raw form.
    package mutating func becomeRaw() -> Bool {
        guard offset == 0, sequence == 0, pending == nil, unmade == nil, let raw = scanner.raw else { return false }
        (beforeRaw, isRaw) = ((scanner, raw.count), true)
        scanner = ByteItems()
        scanner.feed(raw)
        return true
    }

    /// Takes `becomeRaw` back: no byte went to the second connection.
    package mutating func becomeItems() {
        guard let (before, count) = beforeRaw.take(), phase != .done else { return }
        var items = before
        if let item = try? scanner.next(within: ItemBudget(bytes: .max)), case .data(let bytes) = item.content {
            items.feed(Array(bytes.dropFirst(count)))
        }
        (scanner, isRaw) = (items, false)
    }

    package mutating func step() -> Step {
        switch phase {
        case .done: return .stop
        case .open where !isPush: return held < max(Self.readAhead, wanted) || !hasItem() ? .fetch : .wait
        case .ended where !isPush: return .wait
        case .open, .ended:
            let most = ItemBudget(bytes: min(credit, budget.bytes), written: budget.written)
            if credit > 0 || isStateNext(), let piece = take(most, isBatched) {
                credit -= piece.bytes
                return .send(piece)
            }
            if let work = unmade?.work, credit > 0 { return .make(work) }
            if hasItem() {
                guard isCreditFinal, credit <= 0 else { return .wait }
                let text = "the credit is used up, and the client can give no more"
                sourceEnded(HTTPFailure(.explicitlyCancelled, text, sent: .sent))
                drop()
            }
            if phase == .open { return .fetch }
            phase = .done
            // the size includes bytes behind the last item
            return .end(sequence: nextSequence(), size: failure == nil && !scanner.countsItems ? fed : offset)
        }
    }

    /// That piece was not sent, and will not be: the request is over.
    package mutating func lost(_ piece: Piece) {
        offset = piece.offset
        sequence = piece.sequence
        drop()
    }

    // MARK: the client

    /// Adds credit; returns the credit now, or nil for a pull stream.
    package mutating func grant(_ bytes: Int) -> Int? {
        guard isPush else { return nil }
        hasLimit = true
        credit = min(credit.addingReportingOverflow(bytes).partialValue, Self.creditLimit)
        return max(0, credit)
    }

    /// No more credit comes: the stream ends after the remaining credit. A client that never gave any gets the whole body.
    package mutating func endCredit() {
        isCreditFinal = true
        if !hasLimit { credit = Self.creditLimit }
    }

    /// Whether this is a push stream that is not over.
    package var isSending: Bool { isPush && phase != .done }

    /// Sets the content of the item that was built. No effect if the item was dropped meanwhile.
    package mutating func made(_ content: StreamItem.Content) {
        guard let item = unmade else { return }
        unmade = nil
        scanner.made(content)
        pending = StreamItem(content, bytes: item.bytes)
    }

    /// The next items: at least one if available, then more up to that many bytes and items.
    ///
    /// - Parameter least: the least number of bytes to wait for, unless the stream ends before.
    package mutating func read(upTo bytes: Int, items: Int = .max, least: Int = 1) -> Read {
        if isPush { return .wrongMode }
        if phase == .done { return hasReadEnd ? .piece(readNothing(), end: true) : .stop }
        wanted = least
        if least > 1, phase == .open, held < least, size != offset &+ held { return .wait }
        wanted = 1
        if let piece = take(ItemBudget(bytes: bytes, written: longest), true, most: items) {
            let isLast = size == offset || (phase == .ended && !hasItem())
            // a failed item and an early end are reported in separate reads
            guard isLast, !piece.isFailure else { return .piece(piece, end: false) }
            (phase, hasReadEnd) = (.done, true)
            return .piece(piece, end: true)
        }
        if let work = unmade?.work { return .make(work) }
        guard phase == .ended || size == offset else { return .wait }
        (phase, hasReadEnd) = (.done, true)
        return .piece(readNothing(), end: true)
    }

    /// All held bytes, for a second connection.
    package mutating func drain() -> [UInt8]? {
        beforeRaw = nil
        guard let piece = take(ItemBudget(bytes: .max), false), case .data(let bytes)? = piece.items.first?.content
        else { return nil }
        return bytes
    }

    /// Counts bytes that go to a second connection directly. False if held items must go first.
    package mutating func pass(_ count: Int) -> Bool {
        guard phase == .open, !isPush, held == 0, scanner is ByteItems else { return false }
        fed &+= count
        offset &+= count
        sequence &+= 1
        return true
    }

    /// Takes a `pass` back: the second connection took nothing.
    package mutating func takeBack(_ count: Int) {
        fed &-= count
        offset &-= count
        sequence &-= 1
    }

    /// Whether all items are delivered, and no more will come.
    package var isOver: Bool { phase == .done || (phase == .ended && held == 0) }

    /// The number of bytes still to come; nil if unknown.
    package var left: Int? {
        if phase == .open { return size.map { max(0, $0 - offset) } }
        return held
    }

    /// Bytes delivered, with a LF behind the CR of the last line.
    package var delivered: Int { offset &+ (pending == nil && unmade == nil ? scanner.lateEnd : 0) }

    /// Whether a read may ask for a number of bytes.
    package var isOfBytes: Bool { scanner is ByteItems }

    /// The next sequence number, for notes between the items.
    package mutating func nextSequence() -> Int {
        defer { sequence &+= 1 }
        return sequence
    }

    /// Whether a body began, or none will.
    package var hasBegun: Bool { isBegun || phase != .open }

    /// The empty piece for a read whose time is over.
    package mutating func readNothing(inTurn: Bool = true) -> Piece {
        if inTurn { wanted = 1 }
        defer { sequence += 1 }
        return Piece(items: [], offset: offset, bytes: 0, sequence: sequence)
    }

    package mutating func close() {
        phase = .done
        drop()
    }

    // MARK: items

    package var held: Int { scanner.held + (pending?.bytes ?? 0) + (unmade?.bytes ?? 0) }

    /// The memory of what is held.
    package var kept: Int { held - scanner.held + scanner.kept }

    private mutating func hasItem() -> Bool { pending != nil || unmade != nil || scanner.hasNext() }

    /// Whether the next item is a state, which is told whatever the credit: the end may be behind the state.
    private mutating func isStateNext() -> Bool {
        if let pending { return pending.isState }
        return unmade == nil && scanner.isStateNext()
    }

    private mutating func drop() {
        scanner = ByteItems()
        pending = nil
        unmade = nil
    }

    /// Nil if there is no item now.
    private mutating func take(_ limit: ItemBudget, _ isBatched: Bool, most: Int = .max) -> Piece? {
        var piece = Piece(items: [], offset: offset, bytes: 0, sequence: sequence)
        var left = limit
        let isContinuous = scanner.isContinuous
        while piece.items.count < most, let item = next(left) {
            let (bytes, written, isFailure, isState) = (item.bytes, item.writtenBytes, item.isFailure, item.isState)
            // a long item travels alone, and so does a failure or a state
            if !piece.items.isEmpty, isFailure || isState || bytes > left.bytes || written > left.written {
                pending = item
                break
            }
            piece.bytes += bytes
            offset += bytes
            if isFailure { failed(item) }
            piece.items.append(item)
            guard isBatched, !isContinuous, !isFailure, !isState else { break }
            left.bytes -= bytes
            left.written -= written
            if left.bytes <= 0 || left.written <= 0 { break }
        }
        guard !piece.items.isEmpty else { return nil }
        sequence += 1
        return piece
    }

    private mutating func next(_ budget: ItemBudget) -> StreamItem? {
        if let item = pending.take() { return fitting(item) }
        guard unmade == nil else { return nil }
        do throws(HTTPFailure) {
            guard let item = try scanner.next(within: budget) else { return nil }
            if item.work != nil {
                unmade = item
                return nil
            }
            return fitting(item)
        } catch {
            sourceEnded(error)
            failure = error
            drop()
            return nil
        }
    }

    /// The item, or a failure if the client could not read an item of that length.
    private func fitting(_ item: consuming StreamItem) -> StreamItem {
        guard item.writtenBytes > longest else { return item }
        let failure = HTTPFailure(
            .limitExceeded, "an item of \(item.bytes) bytes is longer than maxMessageBytes allows", sent: .sent)
        return StreamItem(.failed(failure), bytes: item.bytes)
    }

    private mutating func failed(_ item: StreamItem) {
        guard endsOnError, case .failed(let failure) = item.content else { return }
        drop()
        phase = .ended
        self.failure = HTTPFailure(
            .explicitlyCancelled, "the stream was cancelled because of an item: \(failure.message)", sent: .sent)
    }
}

extension StreamItem {
    fileprivate var isState: Bool {
        if case .state = content { true } else { false }
    }

    fileprivate var work: (@Sendable () -> Content)? {
        if case .unmade(let work) = content { work } else { nil }
    }
}
