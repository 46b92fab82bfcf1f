// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Carrying out a command for requests.
extension RequestCall {
    /// Makes the requests on a single connection to the service.
    ///
    /// - Parameters:
    ///   - verb: the method of the command; nil leaves it to the options.
    ///   - kept: takes a copy of the response.
    func run(_ verb: String?, keeping kept: KeptResponse? = nil) throws {
        do throws(CommandFailure) {
            try fetchAll(verb, kept)
        } catch {
            throw output.tells ? error : CommandFailure(code: error.code, nil)
        }
    }

    private func fetchAll(_ verb: String?, _ kept: KeptResponse?) throws(CommandFailure) {
        let (urls, items) = try split()
        if output.etagSave != nil || request.etagCompare != nil, urls.count > 1 {
            throw CommandFailure(
                .usage, "--etag-save and --etag-compare are of a single URL, and these are \(urls.count)")
        }
        let writeOut = try output.writeOut.map { (format) throws(CommandFailure) in try WriteOut(format) }
        for name in writeOut?.unknown ?? [] where output.tells {
            StandardError.line("outrider: -w has no variable \(name): nothing is written for it")
        }
        try checkFiles()
        // a shown command touches no file
        let heads = try (curl ? nil : output.dumpHeader).map { (name) throws(CommandFailure) in
            HeadFile(try output.sink(name))
        }
        let sent = try request.body.sent(items)
        var shared = try shared(verb, sent, (urls, items))
        var service = try service.connect(orPrivate: true)
        if output.verbose, !curl { try VerboseLog.subscribe(over: &service.client, by: Deadline(after: 10)) }
        let isParallel = parallel && !curl
        let session = CommandSession(
            places: curl || unixSocket != nil ? [:] : trust.places,
            connectionsPerHost: isParallel ? parallelMax : nil, cookies: cookies.sessionJar)
        try session.add(to: &shared, over: &service.client)
        try cookies.read(shared, over: &service.client)
        let base = shared
        var failed: CommandFailure?
        var queue = TransferQueue(
            count: urls.count, limit: isParallel ? parallelMax : 1,
            log: output.verbose ? VerboseLog(plainVersion: version.priorKnowledge ? "2" : "1.1") : nil,
            door: service.door
        ) { (outcome) throws(CommandFailure) in
            if let writeOut, !curl { try writeOut.write(outcome) }
            guard let failure = outcome.failure else { return }
            if output.tells { failed?.report() }
            failed = failure
            if output.failEarly { throw failure }
        }
        do throws(CommandFailure) {
            let rate = curl ? nil : rate.flatMap(RequestRate.init)
            try queue.run(over: &service.client) { (number) throws(CommandFailure) in
                rate?.wait()
                let params = try params(base, urls[number], sent, items)
                let transfer = try RequestTransfer(self, url: urls[number], number: number, heads: heads, kept: kept)
                return (transfer, params)
            }
        } catch  where failed == nil || !output.failEarly {
            throw error
        }
        if !curl { try cookies.write(shared, over: &service.client) }
        if let failed { throw failed }
        if !curl { try cookies.checkJar(shared, over: &service.client) }
    }

    /// Refuses a file that is read and written at the same time.
    private func checkFiles() throws(CommandFailure) {
        let read = request.body.data.compactMap(DataWords.fileName)
        for name in read + [request.body.uploadFile].compactMap({ $0 }) where name != "-" {
            guard let identity = FileIdentity(name), output.outputs.contains(where: { FileIdentity($0) == identity })
            else { continue }
            throw CommandFailure(.usage, "\(name) is both sent and written: name another file")
        }
    }
}
