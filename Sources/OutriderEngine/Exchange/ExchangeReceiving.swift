// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Receives the body of a response.
extension ExchangeDriver {
    func receive() {
        guard let body = response?.body else { return proceed(machine.received()) }
        if let download {
            if let excess = excess(of: body) { return broke(excess) }
            return wait(for: { await self.receive(body, for: download) }, then: { self.proceed($0) })
        }
        if let outlet { return receive(body, into: outlet) }
        if let excess = excess(of: body) { return broke(excess) }
        sink.expect(body.expectedBytes)
        pull(body)
    }

    /// The failure of a body whose length alone shows that it is longer than the request allows. The head of the response
    /// has been heeded by then: a redirect or a challenge has another response.
    private func excess(of body: any AttemptResponseBody) -> HTTPFailure? {
        // safe: an Int is an Int64
        guard let attempt, let most = attempt.maximumBodyBytes, let length = body.expectedBytes, length > Int64(most)
        else { return nil }
        return CachedAttempt.tooLong(most, attempt.url.host)
    }

    private func pull(_ body: any AttemptResponseBody) {
        guard cancellation == nil, let sending else {
            return broke(cancellation ?? .unbuilt)
        }
        let completion = { (result: Result<ByteBuffer?, HTTPFailure>) in
            if self.took(result, of: body) { self.pull(body) }
        }
        while let ready = sending.poll(completion) {
            guard took(ready, of: body) else { return }
        }
    }

    /// Whether to pull more now.
    private func took(_ result: Result<ByteBuffer?, HTTPFailure>, of body: any AttemptResponseBody) -> Bool {
        switch result {
        case .success(let chunk?): return took(chunk, of: body)
        case .success(nil):
            if let fault = signing.bodyProof?.fault {
                broke(fault)
            } else {
                add(body.timeline)
                proceed(machine.received())
            }
        case .failure(let failure): broke(failure)
        }
        return false
    }

    private func took(_ chunk: ByteBuffer, of body: any AttemptResponseBody) -> Bool {
        signing.bodyProof?.take(chunk)
        guard let spill = sink.take(chunk) else { return counted(body) }
        wait(for: { await Self.result { () throws(HTTPFailure) in try await spill.write() } }) { result in
            switch result {
            case .success(let file):
                self.sink.wrote(file)
                if self.counted(body) { self.pull(body) }
            case .failure(let failure): self.broke(failure)
            }
        }
        return false
    }

    /// Reports progress. Returns whether to pull more now.
    private func counted(_ body: any AttemptResponseBody) -> Bool {
        let (report, goesOn) = exchange.received(Int64(sink.size), onWire: body.wireBytes?.got)
        let delivery = report.flatMap { tell($0) }
        if delivery == nil, goesOn { return true }
        wait(for: { await delivery?() }) { self.whenResumed { self.pull(body) } }
        return false
    }

    /// The rest of the delivery of the last report.
    private func tell(_ report: ProgressReport) -> EventDelivery? {
        if report.isLast { return observer?.receive(.progress(report)) }
        observer?.receiveDroppable(.progress(report))
        return nil
    }

    /// The body ended early.
    private func broke(_ failure: HTTPFailure) {
        giveUp(isWhole: failure.kind == .serverAuthenticationFailed)
        proceed(machine.failed(failure))
    }

    /// Abandons the rest of the body.
    ///
    /// - Parameter isWhole: the body is complete.
    func giveUp(isWhole: Bool = false) {
        guard let body = response?.body else { return }
        isTruncated = !isWhole
        body.abandon()
        add(body.timeline)
    }

    // MARK: outlets

    private func receive(_ body: any AttemptResponseBody, into outlet: any BodyOutlet) {
        guard !given.isEmpty else { return consultBeforeBody(body, outlet) }
        wait(for: { await self.refusedToken() }) { refusal in
            if let refusal { return self.proceed(self.machine.failed(refusal)) }
            self.consultBeforeBody(body, outlet)
        }
    }

    /// Bytes given to an outlet cannot be recalled, so the retriers judge the response before its body is read.
    private func consultBeforeBody(_ body: any AttemptResponseBody, _ outlet: any BodyOutlet) {
        guard machine.consultsAboutResponses else { return fill(outlet, body) }
        verdict(on: nil) { verdict in
            if let cancellation = self.cancellation { return self.broke(cancellation) }
            guard case .retry = verdict, case .retry(let seconds) = self.permitted(verdict, after: nil) else {
                return self.fill(outlet, body)
            }
            self.wait(for: { await self.drain(body) }) {
                self.giveUp()
                if let cancellation = self.cancellation { return self.proceed(self.machine.failed(cancellation)) }
                _ = self.machine.refused()
                self.repeatExchange(after: seconds, nil)
            }
        }
    }

    private func fill(_ outlet: any BodyOutlet, _ body: any AttemptResponseBody) {
        wait(for: { await Self.result { () throws(HTTPFailure) in try await self.filled(outlet, body) } }) { result in
            self.filled(result, body)
        }
    }

    private func filled(_ outlet: any BodyOutlet, _ body: any AttemptResponseBody) async throws(HTTPFailure) -> Bool {
        guard let response else { return true }
        if let excess = excess(of: body) { throw excess }
        sink.expect(body.expectedBytes)
        try await outlet.begin(ExchangeHead(response), expecting: body.expectedBytes)
        return try await pour(body, into: outlet)
    }

    /// Passes on all that there is. Returns whether that was the end; otherwise the next chunk goes on. No task waits
    /// for that chunk: thousands of silent streams would each keep the memory of theirs.
    private func pour(_ body: any AttemptResponseBody, into outlet: any BodyOutlet) async throws(HTTPFailure) -> Bool {
        while true {
            guard cancellation == nil, let sending else { throw cancellation ?? .unbuilt }
            guard let ready = sending.poll({ self.came($0, of: body, for: outlet) }) else { return false }
            guard try await passed(ready, of: body, to: outlet) else { return true }
        }
    }

    private func came(
        _ result: Result<ByteBuffer?, HTTPFailure>, of body: any AttemptResponseBody, for outlet: any BodyOutlet
    ) {
        wait(for: {
            await Self.result { () throws(HTTPFailure) in
                guard try await self.passed(result, of: body, to: outlet) else { return true }
                return try await self.pour(body, into: outlet)
            }
        }) { self.filled($0, body) }
    }

    private func filled(_ isOver: Result<Bool, HTTPFailure>, _ body: any AttemptResponseBody) {
        switch isOver {
        case .success(true):
            add(body.timeline)
            proceed(machine.received())
        case .success(false): break
        case .failure(let failure): broke(failure)
        }
    }

    /// Passes a chunk on, or the end of the body. Returns whether more may follow.
    private func passed(
        _ result: Result<ByteBuffer?, HTTPFailure>, of body: any AttemptResponseBody, to outlet: any BodyOutlet
    ) async throws(HTTPFailure) -> Bool {
        guard let chunk = try result.get() else {
            if let fault = signing.bodyProof?.fault { throw fault }
            try await outlet.finish()
            return false
        }
        // bytes that come during a suspension stay here until its end
        if exchange.isSuspended {
            await exchange.untilResumed()
            if let cancellation { throw cancellation }
        }
        signing.bodyProof?.take(chunk)
        try await keep(chunk)
        try await outlet.take(BodyChunk(chunk))
        let (report, goesOn) = exchange.received(Int64(sink.size), onWire: body.wireBytes?.got)
        if let report { await tell(report)?() }
        if !goesOn { await exchange.untilResumed() }
        return true
    }

    /// Puts a chunk into the sink, for async code.
    func keep(_ chunk: ByteBuffer) async throws(HTTPFailure) {
        if let spill = sink.take(chunk) { sink.wrote(try await spill.write()) }
    }

    // MARK: the rest of a body

    /// Reads a short body to the end, so that its connection can be reused; abandons a long or slow body.
    func drain(_ body: any AttemptResponseBody) async {
        let most = 16 << 10
        guard (body.expectedBytes ?? 0) <= Int64(most) else { return body.abandon() }
        let patience = exchange.environment.executors.later(seconds: 1) { body.abandon() }
        var taken = 0
        do throws(HTTPFailure) {
            while taken <= most, let chunk = try await body.next() { taken &+= chunk.readableBytes }
        } catch {
            // the body was only read to reuse the connection
        }
        patience.cancel()
        if taken > most { body.abandon() }
    }

    /// The response is the last of an exchange that fails with it, such as a redirect that cannot be followed: its page
    /// goes to the client.
    func keepPage(of response: AttemptResponse, _ attempt: Attempt) async {
        self.response = response
        isPage = true
        if let download {
            giveUp(isWhole: await download.keepPage(response.body, most: attempt.maximumBodyBytes))
        } else if await !keepRefused() {
            giveUp()
        }
    }

    /// Keeps the first 64 KiB of a body that no outlet takes, if the bytes arrive within a second. Returns whether the
    /// body is complete.
    func keepRefused() async -> Bool {
        guard let body = response?.body else { return true }
        // bytes after a 101 are no body
        if response?.status == 101 { return false }
        sink = Self.sink(for: exchange, outlet == nil ? nil : .inline)
        let patience = exchange.environment.executors.later(seconds: 1) { body.abandon() }
        defer { patience.cancel() }
        do throws(HTTPFailure) {
            while let chunk = try await body.next() {
                let room = min((64 << 10) - sink.size, chunk.readableBytes)
                if let kept = chunk.getSlice(at: chunk.readerIndex, length: room) { try await keep(kept) }
                if room < chunk.readableBytes { return false }
            }
            note(body.timeline)
            return true
        } catch {
            // the bytes so far are kept
        }
        return false
    }
}
