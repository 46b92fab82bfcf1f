// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Names and shapes of other HTTP clients, and the Outrider form of each.
package enum Habits {
    /// Names of other clients in lower case without `_` and `-`, the member in Outrider, and an example.
    private static let names: [(elsewhere: Set<String>, here: String, example: String)] = [
        (["json"], "body", #"{"json": …}"#),
        (["data", "content", "payload", "text"], "body", #"{"text": …} or {"form": …}"#),
        (["form", "formdata"], "body", #"{"form": …}"#),
        (["files"], "body", #"{"multipart": …}"#),
        (["params", "qs", "searchparams"], "query", #"{"name": "value"}"#),
        (
            ["followredirects", "followredirect", "followlocation", "allowredirects", "maxredirects"], "redirect",
            #""follow", "none" or {"max": 5}"#
        ),
        (["verify", "insecure", "rejectunauthorized", "strictssl"], "trust", #""none" to accept any certificate"#),
        (["proxies", "agent"], "proxy", #""http://host:port""#),
        (["retries", "maxretries"], "retry", #"{"limit": 3}"#),
        (["responsetype", "as"], "serialize", #"{"as": "json"}"#),
        (["stream"], "bodyTo", #""stream""#),
        (["user", "username", "password"], "auth", #"{"username": …, "password": …}"#),
        (["bearer", "token"], "auth", #"{"bearer": …}"#),
        (["useragent"], "headers", #"{"User-Agent": …}"#),
        (["validatestatus", "raiseforstatus", "throwhttperrors"], "validate", "true"),
    ]

    /// Examples for members that are objects.
    private static let shapes = [
        "body": #"{"text": …}"#, "serialize": #"{"as": "json"}"#, "auth": #"{"username": …, "password": …}"#,
    ]

    /// How an unknown member could be written, in parentheses; empty if nothing is known.
    package static func hint(for name: String, among known: [String]) -> String {
        let folded = name.utf8.count > 32 ? "" : name.lowercased().filter { $0 != "_" && $0 != "-" }
        if let habit = names.first(where: { $0.elsewhere.contains(folded) && known.contains($0.here) }) {
            return " (write \(habit.here): \(habit.example))"
        }
        if let near = NameSuggestions.of(name, among: known).first { return " (did you mean \(near)?)" }
        return known.contains("json") && known.contains("multipart") ? #" (a JSON body is {"json": …})"# : ""
    }

    /// An example for a value that is no object, in parentheses; empty if there is none.
    static func shape(for complaint: JSONComplaint) -> String {
        guard complaint.message.contains("must be an object, not ") else { return "" }
        let path = complaint.pointer.names.suffix(2)
        guard let name = path.last else { return "" }
        if let example = shapes[name] { return " (such as \(example))" }
        guard let list = path.first, ["headers", "query", "form"].contains(list) else { return "" }
        return #" (write {"name": …, "value": …})"#
    }
}
