// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// The version of HTTP, by curl's options.
struct VersionOptions: ParsableArguments {
    @Flag(name: .customLong("http1.1"), help: "Speak HTTP/1.1.")
    var http11 = false

    @Flag(name: .customLong("http2"), help: "Speak HTTP/2 to https servers that agree, which is the default.")
    var http2 = false

    @Flag(
        name: .customLong("http2-prior-knowledge"),
        help: "Speak HTTP/2 without asking the server; https servers have to agree.")
    var priorKnowledge = false

    func validate() throws {
        if [http11, http2, priorKnowledge].filter({ $0 }).count > 1 {
            throw ValidationError("give only one of --http1.1, --http2 and --http2-prior-knowledge")
        }
    }

    /// Puts `httpVersion` into the params of a request; without an option the default of the service counts.
    func add(to params: inout JSONObject) {
        if http11 { params["httpVersion"] = .string("1.1") }
        if http2 { params["httpVersion"] = .string("auto") }
        if priorKnowledge { params["httpVersion"] = .string("2") }
    }
}
