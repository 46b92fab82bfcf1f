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
            let path: String? = try fields.optional("path")
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
                .notPermitted, "another connection made this request: interceptors and callbacks would see its secrets",
                data: ["pointer": .string("/request")])
        }
        if let old = begun.old { download.fill(from: old) }
        if !download.request.hasURL, begun.old == nil { download.request.spec.url = begun.journal.url }
        download.request.giver = begun.giver
        download.options.journal = begun.journal
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
                throw RPCError(
                    .wrongState, error.message, data: ["pointer": .string("/path"), "state": .string("busy")])
            }
            throw RPCError(
                .wrongState, "no interrupted download has left anything for \(path.excerpt): download.start begins one",
                data: ["pointer": .string("/path"), "state": .string("absent")])
        }
    }
}

extension RequestParameters {
    /// Whether code of the client may see the request that is sent.
    fileprivate var mayShowItself: Bool { !interceptors.isEmpty || codes != nil || session != nil }
}

extension DownloadParameters {
    /// Absent members keep their former values.
    mutating func fill(from old: RequestParameters) {
        var merged = old
        if request.hasURL { merged.spec.url = request.spec.url }
        for field in request.spec.fields.list { merged.spec.fields.set(field.name, field.value) }
        if request.spec.authorization != nil {
            merged.spec.authorization = request.spec.authorization
            merged.spec.fields.remove("Authorization")
        }
        if request.timeout != nil { merged.timeout = request.timeout }
        if request.spec.options != nil { merged.spec.options = request.spec.options }
        if request.spec.shared != nil {
            merged.spec.shared = request.spec.shared
            merged.codes = request.codes
        }
        if request.codes?.destination != nil { merged.codes = request.codes }
        if request.session != nil { merged.session = request.session }
        if !request.interceptors.isEmpty { merged.interceptors = request.interceptors }
        merged.events = request.events
        merged.isDetached = request.isDetached
        merged.showsHandle = request.showsHandle
        if request.spec.tag != nil { merged.spec.tag = request.spec.tag }
        merged.spec.metrics = merged.spec.metrics || request.spec.metrics
        merged.startsImmediately = request.startsImmediately
        request = merged
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
