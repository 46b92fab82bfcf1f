// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// An attempt of a request with a cache: the response is a stored one, comes from an exchange that several requests share, or
/// from an attempt of its own.
// proof: everything runs on the shared loop of the transport, where `Exchange` drives all requests with a cache;
// `PolledBody` goes there.
final class CachedAttempt: PolledAttempt, @unchecked Sendable {
    typealias Piece = Result<ByteBuffer?, HTTPFailure>

    /// Where the body comes from.
    enum Source {
        case none
        /// What is left of a stored body.
        case stored(ByteBuffer)
        case file(CachedFile)
        case flight(CacheFlight, Int)
        case inner(any LoopAttempt)
        case over(HTTPFailure)
    }

    let attempt: Attempt
    let binding: CacheBinding
    let query: CacheQuery
    let place: CachePlace
    let transport: any Transport
    let observer: any AttemptObserver
    let loop: any EventLoop
    var source = Source.none
    /// The flight that is waited for.
    private(set) var joined: (flight: CacheFlight, number: Int)?
    private var completion: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    private(set) var waiting: ((Piece) -> Void)?
    /// The pieces of a shared body that were taken.
    private(set) var position = 0
    private var taken = 0
    private var patience: Scheduled<Void>?
    /// The limits of a request that shares an exchange.
    var limits = ReaderLimits()
    private var goesAloneNow = false
    private var peeked: Piece?

    init(
        _ attempt: Attempt, _ binding: CacheBinding, _ stable: CachePrincipal.Stable, _ transport: any Transport,
        observer: any AttemptObserver
    ) {
        self.attempt = binding.spec.mode == .noCache ? attempt.askingOrigin : attempt
        self.binding = binding
        self.transport = transport
        self.observer = observer
        loop = transport.loop
        query = CacheQuery(self.attempt, binding.spec)
        place = binding.place(of: attempt, stable)
    }

    var store: CacheStore { binding.store }

    // MARK: what the driver wants

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        self.completion = completion
        if case .over(let failure) = source { return finish(.failure(failure)) }
        // a stored response is not given to a request that would be refused
        if let fault = attempt.security.fault(for: attempt.url) { return stop(fault) }
        begin()
    }

    func poll(_ completion: @escaping (Piece) -> Void) -> Piece? {
        switch source {
        case .none: return .failure(Self.cancelled)
        case .over(let failure): return .failure(failure)
        case .inner(let inner):
            if let piece = peeked {
                peeked = nil
                return limited(piece)
            }
            guard attempt.maximumBodyBytes != nil || limits.isArmed else { return inner.poll(completion) }
            awaitsPiece()
            return inner.poll { completion(self.timed($0)) }.map(timed)
        case .stored(var bytes):
            guard let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.pieceBytes)),
                piece.readableBytes > 0
            else { return .success(nil) }
            source = .stored(bytes)
            return .success(piece)
        case .file(let file):
            waiting = completion
            file.next { self.hand($0) }
            return nil
        case .flight(let flight, let number):
            guard let piece = flight.piece(position, for: number) else {
                waiting = completion
                flight.moved()
                guard waiting != nil, let ready = flight.piece(position, for: number) else {
                    if waiting != nil { awaitsPiece() }
                    return nil
                }
                waiting = nil
                return took(ready, of: flight)
            }
            return took(piece, of: flight)
        }
    }

    func cancel() { stop(Self.cancelled) }

    /// The rest of the body is not wanted.
    func abandon() {
        switch source {
        case .over: break
        // nothing is under way for it
        case .stored: source = .none
        default: stop(Self.cancelled)
        }
    }

    private static let pieceBytes = 64 << 10

    static var cancelled: HTTPFailure { HTTPFailure(.explicitlyCancelled, "the request was cancelled") }

    func stop(_ failure: HTTPFailure) {
        let old = source
        if case .over = old { return }
        source = .over(failure)
        disarm()
        if let joined { joined.flight.leave(joined.number) }
        joined = nil
        switch old {
        case .inner(let inner): inner.cancel()
        case .flight(let flight, let number): flight.leave(number)
        default: break
        }
        if let waiting = waiting.take() {
            waiting(.failure(failure))
        } else if completion == nil {
            observer.endedUnread(failure)
        }
        finish(.failure(failure))
    }

    func finish(_ result: Result<AttemptResponse, HTTPFailure>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    func disarm() {
        patience?.cancel()
        patience = nil
        limits.disarm()
    }

    private func hand(_ piece: Piece) {
        let waiting = waiting
        self.waiting = nil
        waiting?(piece)
    }

    // MARK: looking

    /// Looks for a stored response; once more after a shared exchange that led to nothing.
    func begin() {
        joined = nil
        patience?.cancel()
        limits.silenceBegan = nil
        if case .over = source { return }
        if let bypass = query.bypass {
            if binding.spec.mode == .onlyIfCached || query.control.onlyIfCached { return refuse(bypass) }
            return ask(nil, [], query.bypassForward, bypass)
        }
        // what is removed from now on does not come back by a response that confirms it
        let moment = CacheStore.Moment(serial: store.flights.begin(), removals: store.disk?.removals)
        store.find(place, on: loop) { found in
            self.found(found, since: moment)
            self.store.flights.end()
        }
    }

    private func found(_ found: CacheFinding, since moment: CacheStore.Moment) {
        if case .over = source { return }
        let entry = found.entry
        let verdict = CachePolicy.decide(
            query, entry?.head, size: entry?.body.size ?? 0, hasVariants: found.hasVariants, now: CacheClock.now)
        switch verdict {
        case .use(let use):
            guard let entry else { return }
            serve(entry, use, as: use.isStale ? .stale : .hit, nil)
        case .useAndRefresh(let use):
            guard let entry else { return }
            CacheRefresh(of: self).begin(entry, since: moment)
            serve(entry, use, as: .updating, nil)
        case .revalidate(let conditions, let forward, let reason):
            ask(entry, conditions, forward, reason, since: moment)
        case .fetch(let forward, let reason): ask(entry, [], forward, reason, since: moment)
        case .refuse(let reason, let isDirective): refuse(reason, isDirective: isDirective)
        }
    }

    // MARK: asking the server

    /// - Parameter moment: the removals before the lookup that found the entry.
    func ask(
        _ entry: CachedEntry?, _ conditions: HTTPFields, _ forward: CacheForward, _ reason: String,
        since moment: CacheStore.Moment? = nil
    ) {
        store.count { $0.misses += query.bypass == nil ? 1 : 0 }
        // a whole response does not stand in for a part, nor a part for the whole
        let usable = query.range == nil && entry?.head.part == nil ? entry : nil
        guard query.mayStore, query.method == "GET" || query.method == "POST" else {
            return askDirectly(usable, forward, reason)
        }
        let order = CacheFlight.Order(
            attempt: attempt, query: query, place: place, binding: binding, entry: usable, conditions: conditions,
            forward: forward, reason: reason, found: moment)
        let key = store.flights.key(of: place)
        guard query.collapses, !goesAloneNow, !store.flights.isAlone(key) else { return lead(order, as: nil) }
        if store.flights.find(key).contains(where: join) { return }
        lead(order, as: key)
    }

    private func lead(_ order: CacheFlight.Order, as key: CacheFlights.Key?) {
        let flight = CacheFlight(order, as: key, transport, observer: observer)
        if let number = flight.join(self) { joined = (flight, number) }
        if key != nil { awaitsHead() }
        flight.start()
    }

    private func join(_ flight: CacheFlight) -> Bool {
        let mayRead = flight.response == nil ? flight.order.query.stands(in: query) : flight.isReadable(by: self)
        guard mayRead else { return false }
        guard let number = flight.join(self) else { return false }
        joined = (flight, number)
        store.count { $0.collapsed += 1 }
        awaitsHead()
        limitTime()
        if flight.response != nil {
            read(flight, isFirst: false)
        } else if let seconds = query.spec.collapse {
            patience = loop.scheduleTask(in: .milliseconds(Self.milliseconds(seconds))) { self.waitedLong() }
        }
        return true
    }

    static func milliseconds(_ seconds: Double) -> Int64 { Int64(min(max(seconds, 0), 31_536_000) * 1000) }

    private func waitedLong() {
        guard let joined, completion != nil else { return }
        self.joined = nil
        joined.flight.leave(joined.number)
        goAlone()
    }

    /// The response of the shared exchange was not for this request.
    func goAlone() {
        goesAloneNow = true
        begin()
    }

    // MARK: the response

    /// The stored response is the response.
    ///
    /// - Parameter replaced: the response to the request that was sent, in whose place the stored one stands: its cookies,
    ///   proofs and times are for the request.
    func serve(
        _ entry: CachedEntry, _ use: CacheVerdict.CacheUse, as status: CacheReport.Status, _ forward: CacheForward?,
        isCollapsed: Bool = false, inPlaceOf replaced: AttemptResponse? = nil
    ) {
        if case .over = source { return }
        joined = nil
        disarm()
        let now = CacheClock.now
        let size = use.range?.count ?? entry.body.size
        let report = CacheReport(entry, use, as: status, forward, isCollapsed: isCollapsed, at: now)
        var fields = entry.head.shown(at: now)
        if let range = use.range { fields = entry.head.partial(range, of: entry.body.size, at: now) }
        // the server was asked: the cookies are those that it sent now
        if forward != nil { for name in CachedHead.cookieFields { fields.remove(name) } }
        fields.list += (replaced?.fields.list ?? []).filter { field in
            CachedHead.personalFields.contains { HTTPFields.same($0, field.name) }
        }
        let sent = replaced?.body
        let hasBody = query.method != "HEAD"
        // made only to be delivered: a body that is dropped ends the attempt
        let deliver = { @Sendable [fields] (source: Source) in
            let isPart = use.range != nil && entry.head.status != 206
            var response = AttemptResponse(
                status: isPart ? 206 : entry.head.status, reason: isPart ? "Partial Content" : entry.head.reason,
                version: entry.head.version, fields: fields,
                body: PolledBody(self, expectedBytes: hasBody ? Int64(size) : 0, inPlaceOf: sent))
            response.cache = report
            self.store.count(report)
            self.source = source
            self.finish(.success(response))
        }
        switch entry.body {
        case .memory(let bytes):
            let part = use.range.flatMap {
                bytes.getSlice(at: bytes.readerIndex &+ $0.lowerBound, length: $0.count)
            }
            deliver(.stored(hasBody ? part ?? bytes : ByteBuffer()))
        case .file(let name, let whole):
            guard hasBody, let disk = store.disk else { return deliver(.stored(ByteBuffer())) }
            open(CachedFile(disk, name, size: whole, range: use.range, loop), deliver)
        }
    }

    /// The response of a shared exchange has come.
    func read(_ flight: CacheFlight, isFirst: Bool) {
        guard let joined, var response = flight.response, let report = flight.report else { return }
        self.joined = nil
        patience?.cancel()
        patience = nil
        limits.begin(reading: nil)
        limits.arrived = flight.arrived
        if case .over = source { return }
        source = .flight(flight, joined.number)
        if !isFirst {
            for name in CachedHead.personalFields { response.fields.remove(name) }
        }
        let body = PolledBody(self, expectedBytes: response.body.expectedBytes, of: isFirst ? response.body : nil)
        var shown = AttemptResponse(
            status: response.status, reason: response.reason, version: response.version, fields: response.fields,
            body: body)
        shown.cache = isFirst ? report : report.collapsed
        finish(.success(shown))
    }

    /// The exchange belongs to this request alone.
    ///
    /// - Parameter peeked: the first piece of the body, if it was waited for already.
    func adopt(
        _ inner: any LoopAttempt, _ given: AttemptResponse, _ report: CacheReport, _ peeked: Piece?
    ) {
        self.peeked = peeked
        if case .over = source { return inner.cancel() }
        joined = nil
        patience?.cancel()
        limits.begin(reading: given.body)
        source = .inner(inner)
        var response = AttemptResponse(
            status: given.status, reason: given.reason, version: given.version, fields: given.fields,
            body: peeked == nil && attempt.maximumBodyBytes == nil && !limits.isArmed
                ? given.body : PolledBody(self, expectedBytes: given.body.expectedBytes, of: given.body))
        response.cache = report
        finish(.success(response))
    }

    func fail(_ failure: HTTPFailure) {
        if case .over = source { return }
        joined = nil
        stop(failure)
    }

    /// More of a shared body may be there.
    func wake() {
        guard case .flight(let flight, let number) = source, let waiting,
            let piece = flight.piece(position, for: number)
        else { return }
        self.waiting = nil
        pieceCame()
        waiting(took(piece, of: flight))
    }

    /// A piece of a body that is not shared any more: the request keeps its limits.
    private func timed(_ piece: Piece) -> Piece {
        if case .over(let failure) = source { return .failure(failure) }
        pieceCame(piece)
        return limited(piece)
    }

    private func took(_ piece: Piece, of flight: CacheFlight) -> Piece {
        guard case .success(.some) = piece else {
            disarm()
            return piece
        }
        position &+= 1
        flight.stepped()
        return limited(piece)
    }

    /// The piece, or the failure of a body that is longer than the request allows: the exchange behind it has no limit, since
    /// several requests may share it.
    private func limited(_ piece: Piece) -> Piece {
        guard let most = attempt.maximumBodyBytes, case .success(let bytes?) = piece else { return piece }
        taken &+= bytes.readableBytes
        guard taken > most else { return piece }
        let failure = Self.tooLong(most, attempt.url.host)
        stop(failure)
        return .failure(failure)
    }
}
