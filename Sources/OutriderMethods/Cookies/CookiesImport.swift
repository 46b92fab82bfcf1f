// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The forms of cookie files.
enum CookieFormat: String, Sendable, CaseIterable {
    case netscape, json
}

/// Stores the cookies of a file, or of a text in that format, in a jar.
struct CookiesImport: Method {
    static let name = "cookies.import"

    private static let mostBytes = 32 << 20

    struct Params: JSONDecodable {
        var jar: JarReference
        var format: CookieFormat
        var text: String?
        var path: String?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            jar = try JarReference.read(&fields)
            format = try fields.choice("format") ?? .netscape
            text = try fields.optional("text")
            path = try fields.optional("path") { (path: String) in path.hasPrefix("/") ? nil : "must be absolute" }
            try fields.finish()
            guard (text == nil) != (path == nil) else { throw JSONComplaint("must have exactly one of text and path") }
        }
    }

    struct Result: ObjectShape {
        var imported: Int
        var skipped: [NetscapeCookies.Skipped]
        var problem: String?

        init(changes: [CookieChange], skipped: [NetscapeCookies.Skipped], problem: String?) {
            self.problem = problem
            let evicted = changes.filter { $0.kind == .evicted }
            let gone = Set(evicted.compactMap(\.identity))
            imported = changes.count { change in
                guard change.kind == .added || change.kind == .replaced else { return false }
                return change.identity.map { !gone.contains($0) } ?? true
            }
            var skipped = skipped
            if !evicted.isEmpty {
                let limits =
                    "a site has at most \(CookieJar.mostOfSite) cookies, a jar \(CookieJar.mostInAll) and"
                    + " \(CookieJar.mostBytes >> 20) MiB"
                let reason = "\(evicted.count) cookies gave way: \(limits)"
                skipped.insert(NetscapeCookies.Skipped(line: 0, reason: reason), at: 0)
            }
            self.skipped = Array(skipped.prefix(1000))
        }

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("imported", imported)
            writer.member("skipped", skipped.map(SkippedShape.init))
            writer.member("problem", problem)
        }
    }

    private struct SkippedShape: ObjectShape {
        var skipped: NetscapeCookies.Skipped

        init(_ skipped: NetscapeCookies.Skipped) { self.skipped = skipped }

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("line", skipped.line)
            writer.member("message", skipped.reason)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let jar = try await params.jar.resolved(call, makes: true)
        let bytes: [UInt8]
        if let path = params.path {
            do throws(HTTPFailure) {
                bytes = try await CookieFile.read(path, limit: mostBytes, for: call.scope.quota)
            } catch {
                throw RPCError(error, at: "/path")
            }
        } else {
            bytes = Array((params.text ?? "").utf8)
        }
        switch params.format {
        case .netscape: return await netscape(bytes, jar)
        case .json: return try await json(bytes, jar, member: params.path == nil ? "text" : "path")
        }
    }

    private static func netscape(_ bytes: [UInt8], _ jar: SharedJar) async -> Result {
        let now = CookieClock.now
        let suffixes = jar.suffixes
        let found = await background { NetscapeCookies.read(bytes, suffixes, now: now) }
        var skipped = found.skipped
        let cookies = last(found.cookies, &skipped)
        let changes = await jar.changed(by: cookies.count) { jar in
            cookies.flatMap { jar.put($0, site: suffixes.site(of: $0.domain), now: now) }
        }
        return Result(changes: changes, skipped: skipped, problem: jar.unwritten)
    }

    /// The last cookies, up to the capacity of a jar, because the jar is locked meanwhile. The others are skipped.
    private static func last<Element>(_ cookies: [Element], _ skipped: inout [NetscapeCookies.Skipped]) -> [Element] {
        let rest = cookies.count - CookieJar.mostInAll
        guard rest > 0 else { return cookies }
        let reason = "\(rest) cookies before the last \(CookieJar.mostInAll), which is the most that a jar holds"
        skipped.insert(NetscapeCookies.Skipped(line: 0, reason: reason), at: 0)
        return Array(cookies.suffix(CookieJar.mostInAll))
    }

    /// An array of CookieSpecs, or an object with such an array in `cookies`: the format of `cookies.export`.
    private static func json(_ bytes: [UInt8], _ jar: SharedJar, member: String) async throws(RPCError) -> Result {
        let values = try await list(bytes, member)
        let suffixes = jar.suffixes
        let found = await background { read(values, suffixes, now: CookieClock.now) }
        var skipped = found.skipped
        let changes = await jar.put(last(found.cookies, &skipped), for: nil)
        return Result(changes: changes, skipped: skipped, problem: jar.unwritten)
    }

    private static func read(
        _ values: [JSONValue], _ suffixes: PublicSuffixes, now: Int64
    ) -> (cookies: [CookieParameter], skipped: [NetscapeCookies.Skipped]) {
        var skipped: [NetscapeCookies.Skipped] = []
        var cookies: [CookieParameter] = []
        for (index, value) in values.enumerated() {
            do throws(JSONComplaint) {
                let cookie = try CookieParameter(json: value)
                if let fault = refusal(of: cookie, suffixes, now: now) {
                    skipped.append(NetscapeCookies.Skipped(line: index + 1, reason: fault))
                } else {
                    cookies.append(cookie)
                }
            } catch {
                skipped.append(NetscapeCookies.Skipped(line: index + 1, reason: error.message))
            }
        }
        return (cookies, skipped)
    }

    /// The name of a cookie and the rule that it breaks; nil for a cookie that a jar takes.
    private static func refusal(of cookie: CookieParameter, _ suffixes: PublicSuffixes, now: Int64) -> String? {
        do throws(CookieError) {
            _ = try cookie.made(for: nil, suffixes, now: now)
            return nil
        } catch {
            return "\(error.name): \(error.reason.text)"
        }
    }

    private static func list(_ bytes: [UInt8], _ member: String) async throws(RPCError) -> [JSONValue] {
        let parsed = await background { Swift.Result { () throws(JSONFailure) in try JSONParser.parse(bytes) } }
        let problem: String
        switch parsed {
        case .failure(let failure): problem = "is no JSON: \(failure.reason)"
        case .success(let value):
            if let list = value.array ?? value.object?["cookies"]?.array { return list }
            problem = "must hold an array of cookies, or an object with the array cookies"
        }
        throw RPCError(.invalidParams, "\(member) \(problem)", data: ["pointer": .string("/\(member)")])
    }
}
