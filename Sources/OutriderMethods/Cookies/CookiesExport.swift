// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Writes the cookies of a jar to a file, or to a text in the result.
struct CookiesExport: Method {
    static let name = "cookies.export"

    struct Params: JSONDecodable {
        var jar: JarReference
        var filter: CookieFilter
        var format: CookieFormat
        var file: String?
        var replace: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            format = try fields.choice("format") ?? .netscape
            file = try fields.optional("file") { (path: String) in path.hasPrefix("/") ? nil : "must be absolute" }
            replace = try fields.optional("replace") ?? false
            filter = try CookieFilter(&fields)
            try fields.finish()
        }
    }

    struct Result: ObjectShape {
        var count: Int
        var skipped: [String]
        var text: String?
        var file: String?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("exported", count)
            writer.member("skipped", skipped)
            writer.member("text", text)
            writer.member("file", file)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let jar = try await params.jar.resolved(call)
        let cookies = params.filter.cookies(jar)
        var skipped: [String] = []
        let bytes: [UInt8]
        switch params.format {
        case .netscape: (bytes, skipped) = NetscapeCookies.write(cookies, asText: params.file == nil)
        case .json: bytes = JSONWriter.bytes(of: List(cookies: cookies))
        }
        var result = Result(count: cookies.count - skipped.count, skipped: skipped)
        guard let file = params.file else {
            result.text = String(decoding: bytes, as: UTF8.self)
            return result
        }
        do throws(HTTPFailure) {
            try await CookieFile.write(bytes, to: file, replace: params.replace, for: call.scope.quota)
        } catch {
            throw RPCError(error, at: "/file")
        }
        result.file = file
        return result
    }

    private struct List: ObjectShape {
        var cookies: [Cookie]

        func encodeMembers(to writer: inout JSONWriter) { writer.member("cookies", cookies.map(CookieShape.init)) }
    }
}
