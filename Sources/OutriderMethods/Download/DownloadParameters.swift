// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A DownloadSpec of the contract: a request whose body becomes a file.
struct DownloadParameters: LongParams {
    var request: RequestParameters
    var options: DownloadSpec.Options

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        try self.init(&fields)
        try fields.finish()
        try request.needURL()
    }

    /// Its members among others.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        request = try RequestParameters(&fields, to: .file)
        options = DownloadSpec.Options()
        let destination: DestinationParameter? = try fields.optional("destination")
        destination?.apply(to: &options)
        if let checksums: ChecksumsParameter = try fields.optional("checksum") { options.checksums = checksums.list }
        options.checksDigests = try fields.optional("verifyDigest") ?? true
        options.segments = try fields.integer("segments", in: 1...16) ?? 1
        options.rateLimit = try fields.integer("rateLimit", in: 1...(1 << 40))
        options.resumes = try fields.optional("resume") ?? false
        options.sendsCondition = try fields.optional("ifRange") ?? false
        options.whenChanged = try fields.choice("whenChanged")
        if let callback = destination?.callback {
            if request.codes == nil { request.codes = RequestCodes(saysRedirect: false) }
            request.codes?.destination = callback
        }
    }

    /// The request with all that is said of its file.
    var whole: RequestParameters {
        var whole = request
        whole.spec.download = DownloadSpec(options)
        return whole
    }
}

/// The destination of a file: `path`, `directory` with or without `filename`, or a callback after the transfer.
struct DestinationParameter: JSONDecodable {
    private var place: DownloadSpec.Place
    private var createsDirectories: Bool
    private var replaces: Bool
    var callback: CallbackSpec?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let path: String? = try fields.optional("path") { (path: String) in
            path.hasSuffix("/") ? "must not end with /: use directory, or add the name of the file" : Self.fault(path)
        }
        let directory: String? = try fields.optional("directory", check: Self.fault)
        let name: String? = try fields.optional("filename", check: FileName.fault)
        createsDirectories = try fields.optional("createDirectories") ?? false
        replaces = try fields.optional("replace") ?? false
        callback = try fields.optionalCallback()
        try fields.finish()
        switch (path, directory) {
        case (let path?, nil): place = .path(path)
        case (nil, let directory?): place = .directory(directory, name: name)
        case (nil, nil): place = .temporary
        default:
            throw JSONComplaint("path and directory exclude each other", at: JSONPointer(member: "path"))
        }
        if name != nil, directory == nil {
            throw JSONComplaint("filename goes with directory", at: JSONPointer(member: "filename"))
        }
    }

    /// The complaint about the path of a file; nil for a path that can be used.
    static func fault(_ path: String) -> String? {
        if path.utf8.contains(0) { return "must not hold U+0000" }
        return path.hasPrefix("/") || path.hasPrefix("~/") ? nil : "must be absolute, or begin with ~/"
    }

    func apply(to options: inout DownloadSpec.Options) {
        options.place = place
        options.createsDirectories = createsDirectories
        options.replaces = replaces
    }
}

/// Digests by the names of their algorithms, in hexadecimal or base64.
struct ChecksumsParameter: JSONDecodable {
    var list: [Checksum] = []

    init(json: JSONValue) throws(JSONComplaint) {
        let object = try JSONObject(json: json)
        for member in object.members where member.value != .null {
            let pointer = JSONPointer(member: member.name)
            switch Checksum.read(algorithm: member.name, digest: member.value.string ?? "") {
            case .success(let checksum): list.append(checksum)
            case .failure(let fault): throw JSONComplaint(fault.message, at: pointer, known: fault.known)
            }
        }
    }
}
