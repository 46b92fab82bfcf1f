// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Stores a response of the caller's own.
struct CachePut: Method {
    static let name = "cache.put"

    struct Params: JSONDecodable {
        var cache: CacheReference
        var url: HTTPURL
        var status: Int
        var fields: HTTPFields
        var bytes: [UInt8]
        var tags: [String]

        init(json: JSONValue) throws(JSONComplaint) {
            var members = try JSONFields(json)
            cache = try CacheReference(&members)
            let text: String? = try members.optional("url")
            status = try members.integer("status", in: 200...599) ?? 200
            if [206, 304].contains(status) {
                throw JSONComplaint(
                    "must not be \(status): a stored response is whole (store the whole body with its own status, such as 200)",
                    at: JSONPointer(member: "status"))
            }
            let headers: FieldsParameter? = try members.optional("headers")
            fields = try headers?.ofResponse("headers") ?? []
            let base64: String? = try members.optional("base64")
            tags = try members.tags("tags") ?? []
            try members.finish()
            url = try CacheURL.required(text)
            guard let bytes = Base64.decode(try JSONFields.need("base64", base64)) else {
                throw JSONComplaint("base64 must be base64 with padding", at: JSONPointer(member: "base64"))
            }
            self.bytes = bytes
            try checkLength()
        }

        /// A length other than that of the body would mislead readers of the stored response.
        private func checkLength() throws(JSONComplaint) {
            if [204, 205].contains(status), !bytes.isEmpty {
                throw JSONComplaint(
                    "must be empty: a response with status \(status) has no body", at: JSONPointer(member: "base64"))
            }
            let length = Int64(bytes.count)  // safe: Int is not wider
            for text in fields.all("Content-Length") where !fields.contains("Content-Encoding") {
                guard FieldRules.decimal(text) != length else { continue }
                throw JSONComplaint(
                    "Content-Length must be the length of the body, \(bytes.count) (or leave the field out)",
                    at: JSONPointer(member: "headers"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CacheEntryShape {
        let store = try await params.cache.resolved(call, makes: true)
        let key = CacheKey.text(params.url, ignoring: try params.cache.ignoredQuery(call))
        let principal = try params.cache.principal(call, in: store)
        let stored = store.put(
            key: key, principal: principal, status: params.status, params.fields, params.bytes, tags: params.tags)
        switch stored {
        case .success(let entry): return CacheEntryShape(entry: entry, principal: principal)
        case .failure(let obstacle): throw RPCError(obstacle)
        }
    }
}

extension RPCError {
    fileprivate init(_ obstacle: CacheStore.PutObstacle) {
        func refused(_ member: String, _ text: String) -> RPCError {
            RPCError(.invalidParams, text, data: ["pointer": .string("/" + member)])
        }
        self =
            switch obstacle {
            case .longBody(let most):
                refused(
                    "base64",
                    "the body is longer than the \(most) bytes of an entry (cache.configure sets maxEntryBytes)")
            case .longHead(let most):
                refused("headers", "headers, tags and names are longer than the \(most) bytes of an entry")
            case .longURL(let most): refused("url", "the URL is longer than the \(most) bytes of a key")
            case .vary: refused("headers", "Vary selects no request (name at most 16 fields, and not *)")
            case .unwritable(let problem):
                RPCError(
                    .wrongState, "the response was not stored: \(problem)",
                    data: ["pointer": .string("/cache"), "state": .string("unwritable")])
            }
    }
}
