// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// One exchange with a server for a cache: it fills an entry, and any number of requests read along.
///
/// The body is read to its end at the speed of the server while it may be stored; then the readers set the pace.
// proof: everything runs on the shared loop of the transport, where `Exchange` drives all requests with a cache.
final class CacheFlight: @unchecked Sendable {
    var order: Order
    let transport: any Transport
    let observer: FlightObserver
    /// Under which requests find it; nil if none may join.
    private let key: CacheFlights.Key?
    var machine = CollapseMachine()
    var readers: [Int: CachedAttempt] = [:]
    private var nextReader = 0
    private var inner: (any LoopAttempt)?
    /// The first piece of the body, if it was waited for.
    private var peeked: Result<ByteBuffer?, HTTPFailure>?
    private(set) var requestedAt: Int64 = 0
    private(set) var serial = 0
    /// Removals before the exchange began; nil for a cache in memory.
    private(set) var removals: RemovalCount.Mark?
    private var isCounted = false
    /// The body of a response that no request reports.
    private var uncounted: (any AttemptResponseBody)?
    /// Of an exchange in the background, which has a turn of its session until it ends.
    private var turn: (any BackgroundGate)?

    /// The head, once it has come and is shared.
    private(set) var response: AttemptResponse?
    private(set) var report: CacheReport?
    var names: [String] = []
    private(set) var respondedAt: Int64 = 0
    /// The pieces that are still needed, and the number of the first.
    private(set) var pieces: [ByteBuffer] = []
    private(set) var firstPiece = 0
    private(set) var total = 0
    /// The cost of `pieces`, which the store knows: pieces count as long as a reader needs them.
    private var reserved = 0
    /// Pieces that readers have taken since `forget` looked.
    private var steps = 0
    private(set) var isStoring = false
    private var isPulling = false
    /// All pieces have come; the entry may wait for the client's code.
    private var isWhole = false
    /// The next piece has to come from the server.
    var awaitsServer: Bool { isPulling && !isWhole }
    /// The body is over, and how.
    private(set) var tail: Result<Void, HTTPFailure>?
    /// Ends the wait for a reader that takes no piece.
    var stall: Scheduled<Void>?
    /// Waits for the code of the client whose request was sent.
    var decision: Task<Void, Never>?

    /// What the fastest reader may be ahead of the slowest, in pieces.
    static let window = 32
    /// What may be missing of a body that no request reads any more.
    private static let worthReading: Int64 = 1 << 20

    /// - Parameter background: of a revalidation in the background, which has no observer.
    init(
        _ order: Order, as key: CacheFlights.Key?, _ transport: any Transport, observer: (any AttemptObserver)?,
        background: CacheBackground? = nil
    ) {
        self.order = order
        self.key = key
        self.transport = transport
        self.observer = FlightObserver(observer, background: background)
        turn = background?.gate
    }

    /// Sends the request.
    func start() {
        if let key { store.flights.add(self, as: key) }
        serial = store.flights.begin()
        removals = store.disk?.removals
        isCounted = true
        send(order.conditions)
    }

    private func send(_ conditions: HTTPFields) {
        countSent()
        var outgoing = order.attempt
        outgoing.maximumBodyBytes = nil
        for field in conditions.list { outgoing.fields.set(field) }
        requestedAt = CacheClock.now
        let inner = transport.make(outgoing, observer: observer)
        self.inner = inner
        inner.start { result in
            switch result {
            case .failure(let failure): self.failed(failure)
            case .success(let response): self.responded(response)
            }
        }
    }

    // MARK: readers

    /// The number of the reader; nil if it must go alone.
    func join(_ reader: CachedAttempt) -> Int? {
        let number = nextReader
        guard number == 0 || isCurrent, machine.join(number) else { return nil }
        nextReader += 1
        readers[number] = reader
        if nextReader > 1 { share() }
        return number
    }

    /// A background revalidation reads along itself.
    func joinItself() {
        _ = machine.join(nextReader)
        nextReader += 1
    }

    func leave(_ reader: Int) {
        readers[reader] = nil
        if reader == 0 { decision?.cancel() }
        let missing = (response?.body.expectedBytes).map { $0 - Int64(total) }
        let isNear = isStoring && (missing.map { $0 <= max(Self.worthReading, Int64(total)) } ?? false)
        let step = machine.leave(reader, isNearlyDone: isNear)
        if step == .cancel { end(cancels: tail == nil) }
        forget()
        // the reader may have been the one that others waited for
        pump()
    }

    /// The next piece for a reader that has got so many; nil if not there yet. Only the first waits for the client's code.
    func piece(_ number: Int, for reader: Int) -> Result<ByteBuffer?, HTTPFailure>? {
        let index = number - firstPiece
        if index >= 0, index < pieces.count { return .success(pieces[index]) }
        if let tail { return tail.map { _ in nil } }
        return isWhole && reader > 0 ? .success(nil) : nil
    }

    // MARK: the head

    private func responded(_ response: AttemptResponse) {
        let now = CacheClock.now
        respondedAt = now
        if let background = observer.background {
            uncounted = response.body
            background.takes(response.fields, order.attempt)
        }
        let query = order.query
        let invalidation = Invalidation(
            method: query.method, url: query.url, status: response.status, response.fields)
        store.invalidate(invalidation, ignoring: query.spec.ignoredQuery)
        observer.watcher?.tell(invalidation, in: store)
        // its own invalidation does not concern what it stores
        if !Invalidation.isSafe(query.method) { serial = store.flights.serial }
        if response.status == 304, !order.conditions.list.isEmpty, let entry = order.entry {
            return confirmed(entry, by: response)
        }
        if let entry = order.entry, CachePolicy.rescues(query, entry.head, status: response.status, now: now) {
            Self.discard(response, of: inner)
            return serve(entry, .stale, "stale-if-error: status \(response.status)", inPlaceOf: response)
        }
        guard let entry = order.entry, CachePolicy.rescues(query, entry.head, status: nil, now: now) else {
            return decide(response)
        }
        peek(response, or: entry)
    }

    /// Waits for the first piece of the body: the stored response stands in for a response that breaks off before it.
    private func peek(_ response: AttemptResponse, or entry: CachedEntry) {
        let judge = { (piece: Result<ByteBuffer?, HTTPFailure>) in
            if case .failure(let failure) = piece, failure.kind.isOfNetwork {
                return self.serve(entry, .stale, "stale-if-error: \(failure.message)")
            }
            self.peeked = piece
            self.decide(response)
        }
        if let ready = inner?.poll(judge) { judge(ready) }
    }

    /// A 304 has come for the conditions of the cache. Its body is held to the end, or its connection would be given up.
    private func confirmed(_ entry: CachedEntry, by response: AttemptResponse) {
        _ = inner?.poll { [body = response.body] _ in withExtendedLifetime(body) {} }
        guard entry.head.isSelected(by: response.fields) else {
            // about another response than the stored one: asked for in full
            order.conditions = []
            order.entry = nil
            order.attempt = observer.watcher?.signedAgain(order.attempt, after: response.fields) ?? order.attempt
            return send([])
        }
        let head = entry.head.updated(
            by: response.fields, requestedAt: requestedAt, respondedAt: respondedAt, fallback: order.query.spec.maxAge,
            withCookies: store.keepsCookies)
        let others = update(entry, to: head)
        serve(entry.with(head, at: respondedAt), .revalidated, order.reason, inPlaceOf: response)
        for reader in others { reader.begin() }
    }

    private func decide(_ response: AttemptResponse) {
        let query = order.query
        var decision = StoreDecision.decide(
            query, status: response.status, response.fields, isShared: store.name != nil,
            isForAll: order.place.isForAll)
        if case .store = decision, isInvalidated || !machine.isStorable {
            decision = .skip("the URL was invalidated meanwhile")
        }
        if let length = response.body.expectedBytes, length > Int64(store.limits.longestBody) {
            decision = .skip("the body is longer than an entry may be")
        }
        let setsCookie = response.fields.contains("Set-Cookie")
        guard case .store(let names) = decision, !(setsCookie && readers.count > 1) else {
            var reason = "several requests, and the response sets a cookie"
            if case .skip(let why) = decision { reason = why }
            if CachePolicy.isAboutResource(response.status) { outdate() }
            return handOver(response, reason)
        }
        fill(response, names)
    }

    /// The response is not shared: its first reader takes the exchange over.
    private func handOver(_ response: AttemptResponse, _ reason: String) {
        let (waiting, step) = (readers, machine.responded(mayShare: false, others: []))
        if let key { store.flights.markAlone(key) }
        let inner = inner
        self.inner = nil
        end(cancels: false)
        guard case .keep(let keeper, let alone) = step, let taken = inner else {
            // no reader: a background revalidation
            return Self.discard(response, of: inner)
        }
        // the holds of another request are none of the keeper's
        if keeper == 0 { observer.returnControl() }
        let report = CacheReport(
            .miss, forward: order.forward, reason: reason,
            key: order.place.url, upstream: CacheStatus.parse(response.fields))
        if let reader = waiting[keeper] {
            reader.adopt(taken, response, report, peeked)
        } else {
            response.body.abandon()
        }
        for number in alone { waiting[number]?.goAlone() }
    }

    /// The response is stored while its readers get it.
    private func fill(_ response: AttemptResponse, _ names: [String]) {
        let isNews = store.flights.learn(names, for: order.place.key)
        let variant = order.place.variant(names)
        let others = readers.filter { $0.value.place.variant(names) != variant }
        _ = machine.responded(mayShare: true, others: Array(others.keys))
        for number in others.keys { readers[number] = nil }
        if isNews, let key {
            // requests that come now look under the fields that Vary names
            store.flights.remove(self, key)
            machine.unjoinable()
        }
        self.response = response
        share()
        (self.names, isStoring) = (names, true)
        report = CacheReport(
            .miss, forward: order.forward, isStored: true, reason: order.reason, key: order.place.url,
            storedAt: respondedAt, upstream: CacheStatus.parse(response.fields))
        for (number, reader) in readers.sorted(by: { $0.key < $1.key }) { reader.read(self, isFirst: number == 0) }
        for reader in others.values { reader.begin() }
        pump()
    }

    // MARK: the body

    /// Reads from the server while that is of use.
    private func pump() {
        guard !isPulling, tail == nil, response != nil, let inner else { return }
        if let piece = peeked {
            peeked = nil
            take(piece)
        }
        while tail == nil, !isPulling, wantsMore {
            isPulling = true
            guard
                let ready = inner.poll({ result in
                    self.isPulling = false
                    self.take(result)
                    self.pump()
                })
            else { return }
            isPulling = false
            take(ready)
        }
        if isStalled { limitStall() }
    }

    private var wantsMore: Bool {
        if isStoring { return true }
        return readers.values.contains { hasAll($0) } && pieces.count < Self.window
    }

    func hasAll(_ reader: CachedAttempt) -> Bool { reader.position >= firstPiece &+ pieces.count }

    private func take(_ result: Result<ByteBuffer?, HTTPFailure>) {
        guard tail == nil else { return }
        switch result {
        case .success(let piece?):
            pieces.append(piece)
            total &+= piece.readableBytes
            if isStoring { keep(Self.cost(of: piece)) }
        case .success(nil):
            (isPulling, isWhole) = (true, true)
            complete()
            if tail != nil { return }
        case .failure(let failure):
            tail = .failure(failure)
            end(cancels: false)
            for reader in readers.values where reader.waiting == nil { reader.observer.endedUnread(failure) }
        }
        for reader in readers.values { reader.wake() }
        forget()
    }

    /// The body has ended, and is stored if it is to be: readers get the end.
    func finish(isKept: Bool = false) {
        guard tail == nil else { return }
        isPulling = false
        tail = .success(())
        end(cancels: false, isKept: isKept)
        for reader in readers.values { reader.wake() }
        forget()
    }

    /// Whether there is room for what has come.
    private func keep(_ bytes: Int) {
        if total <= store.limits.longestBody, machine.isStorable, store.reserve(bytes) {
            reserved &+= bytes
            return
        }
        isStoring = false
        report?.retract()
        if let key { store.flights.remove(self, key) }
        machine.unkey()
        // a background revalidation of which nothing can be kept
        if readers.isEmpty { end(cancels: true) }
    }

    /// Drops the pieces that all readers have, unless they are to be stored.
    private func forget() {
        guard !isStoring else { return }
        steps = 0
        let slowest = readers.values.lazy.map(\.position).min() ?? firstPiece &+ pieces.count
        let count = min(max(0, slowest &- firstPiece), pieces.count)
        // only if no more pieces stay than go: so moving the rest costs no more than the steps
        guard count > 0, count &* 2 >= pieces.count else { return }
        let bytes = pieces.prefix(count).reduce(0) { $0 &+ Self.cost(of: $1) }
        pieces.removeFirst(count)
        firstPiece &+= count
        release(min(bytes, reserved))
    }

    private func release(_ bytes: Int) {
        guard bytes > 0 else { return }
        store.release(bytes)
        reserved &-= bytes
    }

    /// A reader has taken a piece. The search for pieces that all readers have costs no more than the steps.
    func stepped() {
        steps &+= 1
        guard steps >= readers.count else { return }
        forget()
        pump()
    }

    /// A reader has taken all pieces, and waits.
    func moved() {
        forget()
        pump()
    }

    // MARK: the end

    private func countSent() {
        guard let body = uncounted else { return }
        uncounted = nil
        observer.background?.counts(body.timeline)
    }

    func end(cancels: Bool, isKept: Bool = false) {
        // behind all else: the next in line may begin at once
        defer { turn.take()?.leave() }
        if let key { store.flights.remove(self, key) }
        if isCounted { store.flights.end() }
        if isCounted, !isKept { report?.retract() }
        (isCounted, isStoring) = (false, false)
        countSent()
        if cancels || readers.isEmpty || response == nil { release(reserved) }
        machine.ended()
        if cancels {
            inner?.cancel()
            tail = tail ?? .failure(HTTPFailure(.explicitlyCancelled, "no request reads the response any more"))
        }
        if response == nil { readers = [:] }
    }
}
