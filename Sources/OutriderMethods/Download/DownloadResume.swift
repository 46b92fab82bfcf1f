// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Resumes an interrupted download, and returns its handle at once.
struct DownloadResume: Method {
    static let name = "download.resume"

    struct Params: JSONDecodable {
        enum Source: Sendable {
            case journal(DownloadJournal)
            case request(Handle<RequestRecord>)
            /// Where the file was to go.
            case path(String)
        }

        var source: Source
        /// The changed parameters.
        var download: DownloadParameters

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let data: String? = try fields.optional("resumeData")
            let request: Handle<RequestRecord>? = try fields.optional("request")
            let path: String? = try fields.optional("path", check: DestinationParameter.fault)
            download = try DownloadParameters(&fields)
            try fields.finish()
            switch (data, request, path) {
            case (let data?, nil, nil):
                source = .journal(DownloadJournal(resumeData: data) ?? .unusable)
            case (nil, let request?, nil): source = .request(request)
            case (nil, nil, let path?): source = .path(path)
            default: throw JSONComplaint("must have exactly one of resumeData, request and path")
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> DataStart.Result {
        let begun = try await begun(params.source, call)
        var download = params.download
        if begun.giver != nil, download.request.mayShowItself {
            throw RPCError(
                .notPermitted,
                "another connection made this request: interceptors, callbacks, proxy and connectTo would see secrets",
                data: ["pointer": .string("/request")])
        }
        if let old = begun.old { download.fill(from: old) }
        var journal = begun.journal
        if !download.request.hasURL, begun.old == nil {
            download.request.spec.url = journal.url
        } else {
            // the credentials are for this URL
            journal.home = nil
        }
        download.request.giver = begun.giver
        download.options.journal = journal
        return try await DataStart.call(download.whole, call)
    }

    /// An interrupted download.
    private struct Begun {
        var journal: DownloadJournal
        /// The parameters of its request, where they are known.
        var old: RequestParameters?
        /// The connection that gave the secrets in the URL, if not this connection.
        var giver: MonitorOwner?
    }

    private static func begun(
        _ source: Params.Source, _ call: Call<ClientScope>
    ) async throws(RPCError) -> Begun {
        switch source {
        case .journal(let journal): return Begun(journal: journal)
        case .request(let handle):
            let record = try call.scope.handles.find(handle, "request")
            guard let outcome = record.exchange.outcome else {
                throw RPCError(
                    .wrongState, "the download is still under way: request.cancel with resumeData ends it",
                    data: ["pointer": .string("/request"), "state": .string(record.exchange.snapshot.phase.rawValue)])
            }
            guard let journal = outcome.resumeData.flatMap({ DownloadJournal(resumeData: $0) }) else {
                throw RPCError(
                    .wrongState, "nothing was kept of this request that could be gone on with",
                    data: ["pointer": .string("/request"), "state": .string(record.exchange.snapshot.phase.rawValue)])
            }
            if record.isGiven(by: call.scope) { return Begun(journal: journal, old: record.again) }
            // the URL may hold secrets of the other connection, so the new request is masked like the former
            return Begun(journal: journal, giver: record.giver)
        case .path(let path):
            do throws(HTTPFailure) {
                if let journal = try await interruptedDownload(to: path, for: call.scope.quota.client) {
                    return Begun(journal: journal)
                }
            } catch {
                let state = error.kind == .destinationBusy ? "busy" : "unusable"
                throw RPCError(
                    .wrongState, error.message, data: ["pointer": .string("/path"), "state": .string(state)])
            }
            throw RPCError(
                .wrongState, "no interrupted download has left anything for \(path.excerpt): download.start begins one",
                data: ["pointer": .string("/path"), "state": .string("absent")])
        }
    }
}

extension RequestParameters {
    /// Whether code of the client, or a host that the client names, may see the request that is sent.
    fileprivate var mayShowItself: Bool {
        !interceptors.isEmpty || codes != nil || session != nil || proxy != nil || spec.ownSecurity?.connectTo != nil
    }
}

extension DownloadParameters {
    /// Absent members keep their former values.
    mutating func fill(from old: RequestParameters) {
        request = old.changed(by: request)
        guard let before = old.spec.download?.options else { return }
        if options.place == .temporary, before.place != .temporary {
            options.place = before.place
            options.replaces = options.replaces || before.replaces
            options.createsDirectories = options.createsDirectories || before.createsDirectories
        }
        if options.checksums.isEmpty { options.checksums = before.checksums }
        if options.segments == 1 { options.segments = before.segments }
        if options.rateLimit == nil { options.rateLimit = before.rateLimit }
        options.resumes = options.resumes || before.resumes
        options.sendsCondition = options.sendsCondition || before.sendsCondition
        options.checksDigests = options.checksDigests && before.checksDigests
        options.whenChanged = options.whenChanged ?? before.whenChanged
    }
}

extension RequestParameters {
    /// The request with the members of a later call that are present.
    fileprivate func changed(by call: RequestParameters) -> RequestParameters {
        var merged = self
        if call.hasURL { merged.spec.url = call.spec.url }
        if !call.spec.query.isEmpty { merged.spec.query = call.spec.query }
        if let parameters = call.spec.parameters { merged.spec.parameters = parameters }
        // a name may stand there more than once
        let names = FieldNames(of: call.spec.fields)
        merged.spec.fields.list.removeAll { names.contains($0.name) }
        merged.spec.fields.list += call.spec.fields.list
        merged.takeCredential(of: call)
        merged.timeout = call.timeout ?? timeout
        merged.takePlan(of: call)
        merged.takeConnection(of: call)
        if let options = call.spec.options { merged.spec.options = options.filled(from: spec.options) }
        merged.session = call.session ?? session
        if !call.interceptors.isEmpty { merged.interceptors = call.interceptors }
        merged.cache = call.cache ?? cache
        merged.priority = call.priority ?? priority
        merged.takeReports(of: call)
        return merged
    }

    /// Authorization comes from one place: `auth`, or a field.
    private mutating func takeCredential(of call: RequestParameters) {
        if call.spec.authorization != nil || call.credential != nil {
            (spec.authorization, credential) = (call.spec.authorization, call.credential)
            spec.fields.remove("Authorization")
        } else if call.spec.fields.contains("Authorization") {
            (spec.authorization, credential) = (nil, nil)
        }
    }

    private mutating func takePlan(of call: RequestParameters) {
        startsImmediately = call.startsImmediately
        guard spec.shared != nil || call.codes != nil else { return }
        var plan = spec.plan
        plan.startsImmediately = call.startsImmediately ?? true
        if let given = call.codes {
            var codes = self.codes ?? RequestCodes(saysRedirect: false)
            if given.saysRedirect {
                plan.redirect = call.spec.plan.redirect
                (codes.redirect, codes.saysRedirect) = (given.redirect, true)
            }
            if given.saysRetry {
                plan.retriers = call.spec.plan.retriers
                (codes.retry, codes.saysRetry) = (given.retry, true)
            }
            if let disposition = given.disposition {
                plan.judgesHead = true
                codes.disposition = disposition
            }
            codes.challenge = given.challenge ?? codes.challenge
            codes.destination = given.destination ?? codes.destination
            self.codes = codes
        }
        spec.plan = plan
    }

    /// The way to the server.
    private mutating func takeConnection(of call: RequestParameters) {
        proxy = call.proxy ?? proxy
        cookies = call.cookies ?? cookies
        if call.addresses != nil { (addresses, spec.addresses) = (call.addresses, call.spec.addresses) }
        if call.httpVersion != nil { (httpVersion, spec.httpVersion) = (call.httpVersion, call.spec.httpVersion) }
        guard let given = call.spec.ownSecurity else { return }
        var own = spec.ownSecurity ?? SecurityPlan.Own()
        own.policy = given.policy ?? own.policy
        own.connectTo = given.connectTo ?? own.connectTo
        if given.settings != .standard { own.settings = given.settings }
        spec.ownSecurity = own
    }

    /// Events and handles are those of the call.
    private mutating func takeReports(of call: RequestParameters) {
        events = call.events
        progress = call.progress
        if call.spec.expectedSize != nil { spec.expectedSize = call.spec.expectedSize }
        (isDetached, label) = (call.isDetached, call.label)
        showsHandle = call.showsHandle
        if call.spec.tag != nil { spec.tag = call.spec.tag }
        spec.metrics = spec.metrics || call.spec.metrics
        spec.showsCertificates = spec.showsCertificates || call.spec.showsCertificates
    }
}

extension ResponseOptions {
    /// Absent options keep their former values.
    fileprivate func filled(from old: ResponseOptions?) -> ResponseOptions {
        ResponseOptions(
            validation: validation ?? old?.validation, handlers: handlers.isEmpty ? old?.handlers ?? [] : handlers,
            maxBody: maxBody ?? old?.maxBody)
    }
}
