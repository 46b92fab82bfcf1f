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
            url = try CacheURL.required(&members)
            status = try members.integer("status", in: 200...599) ?? 200
            if [206, 304].contains(status) {
                throw JSONComplaint(
                    "must not be \(status): a stored response is whole (store the whole body with its own status, such as 200)",
                    at: JSONPointer(member: "status"))
            }
            let headers: FieldsParameter? = try members.optional("headers")
            fields = headers?.fields ?? []
            let base64: String = try members.required("base64")
            tags = try members.optional("tags") { (tags: [String]) in CacheChoice.fault(inTags: tags) } ?? []
            try members.finish()
            guard let bytes = Base64.decode(base64) else {
                throw JSONComplaint("base64 must be base64 with padding", at: JSONPointer(member: "base64"))
            }
            self.bytes = bytes
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CacheEntryShape {
        let store = try params.cache.resolved(call)
        let entry = store.put(
            url: params.url, status: params.status, params.fields, params.bytes, tags: params.tags)
        guard let entry else {
            throw RPCError(
                .invalidParams,
                "the response cannot be stored: its body is longer than an entry may be, or Vary selects no request",
                data: ["pointer": .string("/base64")])
        }
        return CacheEntryShape(entry: entry)
    }
}
