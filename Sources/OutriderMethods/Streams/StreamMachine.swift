// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Decides when a stream flows to a client, and in which pieces.
///
///     open ──source ended──▶ ended ──all delivered──▶ done
///       └──────────────close──┴──────────────────────▶ done
///
/// A push stream sends items while it has credit, and wants the next chunk of its source once it holds no whole item. The
/// item that uses the credit up may be longer than the rest of it, unless items are bytes or text, which are cut; what it
/// took too much is taken from the next credit. A pull stream holds up to `readAhead` bytes and one chunk.
/// Responsible for: pieces, their numbers and offsets; how much is held. Not for sources, items and events.
package struct StreamMachine: ~Copyable {
    /// Bytes in one event at most, unless one item is longer; its line then stays under 64 KiB.
    package static let chunkBytes = 32768
    /// The JSON of the items in one event, at most, likewise.
    package static let writtenBytes = 49152
    /// Bytes that a pull stream reads before it is asked.
    package static let readAhead = 65536
    /// The most credit that can add up: 2^53.
    package static let creditLimit = 9_007_199_254_740_992

    package enum Mode: Sendable, Equatable {
        case push(credit: Int)
        case pull
    }

    /// Some items, and where they stand.
    package struct Piece: Sendable {
        package var items: [StreamItem]
        package var offset: Int
        /// What they took of the body.
        package var bytes: Int
        package var sequence: Int
    }

    /// What the runner should do.
    package enum Step {
        /// Get the next chunk of the source, and `feed` it.
        case fetch
        case send(Piece)
        /// Make the next item of its bytes, away from whoever must not be held up, and tell `made`.
        case make(@Sendable () -> StreamItem.Content)
        /// The last event: its number, and how many bytes there were.
        case end(sequence: Int, size: Int)
        case wait
        case stop
    }

    /// What a read gets.
    package enum Read {
        case piece(Piece, end: Bool)
        /// As of a step; then read again.
        case make(@Sendable () -> StreamItem.Content)
        case wait
        case wrongMode
        case stop
    }

    private enum Phase { case open, ended, done }

    package let isPush: Bool
    package let isBatched: Bool
    private let endsOnError: Bool
    private let budget: ItemBudget
    /// The longest item that the client can read, written.
    private let longest: Int
    private var phase = Phase.open
    private var isBegun = false
    /// Bytes that a read waits for.
    private var wanted = 1
    private var isBodyOver = false
    private var contentType: String?
    private var scanner: any ItemScanner
    /// An item that did not fit behind others into a message.
    private var pending: StreamItem?
    /// A long item that somebody is making; nothing behind it is looked at meanwhile.
    private var unmade: StreamItem?
    private var credit = 0
    private var isCreditFinal = false
    private var offset = 0
    private var sequence = 0
    /// Bytes that came.
    private var fed = 0
    /// How long the whole will be, where it is known: the last piece then says that it is the last.
    private var size: Int?
    /// Why it ended early.
    package private(set) var failure: HTTPFailure?

    /// - Parameters:
    ///   - isBatched: whether an event may hold several items; a read always may.
    ///   - endsOnError: whether an item that is wrong is the last.
    ///   - longest: of a message that the client can read, in bytes.
    package init(
        _ mode: Mode, _ scanner: any ItemScanner = ByteItems(), isBatched: Bool = false, endsOnError: Bool = false,
        longest: Int? = nil
    ) {
        self.scanner = scanner
        self.isBatched = isBatched
        self.endsOnError = endsOnError
        // what an event says beside its items
        self.longest = max(64, (longest ?? .max) &- 512)
        budget = ItemBudget(bytes: Self.chunkBytes, written: min(Self.writtenBytes, self.longest))
        isPush = mode != .pull
        if case .push(let credit) = mode { self.credit = credit }
    }

    // MARK: the source

    /// A body begins. Throws why it cannot be looked at, which ends the stream.
    package mutating func begin(contentType: String?, size: Int? = nil) throws(HTTPFailure) {
        guard phase == .open else { return }
        isBegun = true
        isBodyOver = false
        self.contentType = contentType
        self.size = scanner.isContinuous ? size.map { $0 &+ fed } : nil
        do throws(HTTPFailure) {
            try scanner.begin(contentType: contentType)
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

    /// The body is over; another one may begin.
    package mutating func bodyEnded() {
        guard phase == .open else { return }
        isBodyOver = true
        scanner.end()
    }

    /// Nothing more will come.
    package mutating func sourceEnded(_ failure: HTTPFailure? = nil) {
        guard phase == .open else { return }
        phase = .ended
        self.failure = failure
        // what there is no credit for would hold up the end of what somebody cancelled
        if isPush, failure?.kind.isEnd == true { drop() }
    }

    /// Looks for other items than bytes in all that came, as long as nothing of it was delivered. False if it is too late.
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
    /// bytes are no form of the items.
    package mutating func becomeRaw() -> Bool {
        guard offset == 0, sequence == 0, pending == nil, unmade == nil, let raw = scanner.raw else { return false }
        scanner = ByteItems()
        scanner.feed(raw)
        return true
    }

    package mutating func step() -> Step {
        switch phase {
        case .done: return .stop
        case .open where !isPush: return held < max(Self.readAhead, wanted) || !hasItem() ? .fetch : .wait
        case .ended where !isPush: return .wait
        case .open, .ended:
            let most = ItemBudget(bytes: min(credit, budget.bytes), written: budget.written)
            if credit > 0, let piece = take(most, isBatched) {
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
            // what came behind the last item belongs to the whole, too
            return .end(sequence: sequence, size: failure == nil && !scanner.countsItems ? fed : offset)
        }
    }

    /// That piece did not go out, and will not: the request is over.
    package mutating func lost(_ piece: Piece) {
        offset = piece.offset
        sequence = piece.sequence
        drop()
    }

    // MARK: the client

    /// Adds credit; returns what there is now, or nil for a pull stream.
    package mutating func grant(_ bytes: Int) -> Int? {
        guard isPush else { return nil }
        credit = min(credit.addingReportingOverflow(bytes).partialValue, Self.creditLimit)
        return max(0, credit)
    }

    /// No more credit comes: behind the rest of the credit the stream ends.
    package mutating func endCredit() { isCreditFinal = true }

    /// Whether it is pushed, and not over.
    package var isSending: Bool { isPush && phase != .done }

    /// What the item consists of that was to be made. Nothing happens if nobody wants it any more.
    package mutating func made(_ content: StreamItem.Content) {
        guard let item = unmade else { return }
        unmade = nil
        scanner.made(content)
        pending = StreamItem(content, bytes: item.bytes)
    }

    /// The next items: one at least, if there is one, then more up to so many bytes and items.
    ///
    /// - Parameter least: of bytes, so many at least, unless the stream ends before; until then none are taken.
    package mutating func read(upTo bytes: Int, items: Int = .max, least: Int = 1) -> Read {
        if isPush { return .wrongMode }
        if phase == .done { return .stop }
        wanted = least
        if least > 1, phase == .open, held < least, size != offset &+ held { return .wait }
        wanted = 1
        if let piece = take(ItemBudget(bytes: bytes, written: longest), true, most: items) {
            let isLast = size == offset || (phase == .ended && !hasItem())
            // that an item is wrong, and that the stream ended early, are told one after the other
            guard isLast, !piece.isFailure else { return .piece(piece, end: false) }
            phase = .done
            return .piece(piece, end: true)
        }
        if let work = unmade?.work { return .make(work) }
        guard phase == .ended || size == offset else { return .wait }
        phase = .done
        return .piece(readNothing(), end: true)
    }

    /// All that is held, for a client that takes bytes as they come.
    package mutating func drain() -> [UInt8]? {
        guard let piece = take(ItemBudget(bytes: .max), false), case .data(let bytes)? = piece.items.first?.content
        else { return nil }
        return bytes
    }

    /// Bytes of the body that came so far.
    package var came: Int { fed }

    /// So many bytes come, and go at once to a client that takes them as they come. False if others must go first.
    package mutating func pass(_ count: Int) -> Bool {
        guard phase == .open, !isPush, held == 0, scanner is ByteItems else { return false }
        fed &+= count
        offset &+= count
        sequence &+= 1
        return true
    }

    /// Whether all that will come is delivered.
    package var isOver: Bool { phase == .done || (phase == .ended && held == 0) }

    /// How many bytes will still come, where that is known.
    package var left: Int? {
        if phase == .open { return size.map { max(0, $0 - offset) } }
        return held
    }

    /// Bytes that were delivered.
    package var delivered: Int { offset }

    /// Whether a read may ask for a number of bytes.
    package var isOfBytes: Bool { scanner is ByteItems }

    /// A number for what is told between its items.
    package mutating func nextSequence() -> Int {
        defer { sequence &+= 1 }
        return sequence
    }

    /// Whether a body began, or none will.
    package var hasBegun: Bool { isBegun || phase != .open }

    /// A read whose time is over without an item.
    package mutating func readNothing() -> Piece {
        wanted = 1
        defer { sequence += 1 }
        return Piece(items: [], offset: offset, bytes: 0, sequence: sequence)
    }

    package mutating func close() {
        phase = .done
        drop()
    }

    // MARK: items

    private var held: Int { scanner.held + (pending?.bytes ?? 0) + (unmade?.bytes ?? 0) }

    private mutating func hasItem() -> Bool { pending != nil || unmade != nil || scanner.hasNext() }

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
            // a long item travels alone, and so does one that is wrong, or that tells a state
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

    /// The item, or that its client could not read it.
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

extension StreamMachine.Piece {
    /// Whether it is an item that is not what was asked for.
    package var isFailure: Bool { items.first?.isFailure ?? false }
}

extension StreamItem {
    fileprivate var isState: Bool {
        if case .state = content { true } else { false }
    }

    fileprivate var isFailure: Bool {
        if case .failed = content { true } else { false }
    }

    fileprivate var work: (@Sendable () -> Content)? {
        if case .unmade(let work) = content { work } else { nil }
    }
}
