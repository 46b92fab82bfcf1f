// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Testing

struct BatchMachineTests {
    private func fill(_ machine: inout BatchMachine, _ batch: Int, _ slot: Int, _ reply: String?) -> String {
        let member = reply.map { Outgoing.result(.string($0), JSONText(written: Array("1".utf8))).frame(nil) }
        return switch machine.fill(BatchPlace(batch: batch, slot: slot), member) {
        case .waiting: "waiting"
        case .nothing: "nothing"
        case .complete(let replies): text(OutgoingFrame.batch(replies, .line))
        }
    }

    private func text(_ frames: [OutgoingFrame]) -> String { String(decoding: frames.flatMap(\.bytes), as: UTF8.self) }

    /// The array of the results of the calls with these ids.
    private func array(_ ids: String...) -> String {
        "[" + ids.map { #"{"jsonrpc":"2.0","id":"\#($0)","result":1}"# }.joined(separator: ",") + "]\n"
    }

    @Test func `replies stand in the order of the calls, whenever they come`() {
        var machine = BatchMachine()
        let batch = machine.open(4)
        let other = machine.open(1)
        let step1 = fill(&machine, batch, 2, "c")
        #expect(step1 == "waiting")
        let step2 = fill(&machine, batch, 0, "a")
        #expect(step2 == "waiting")
        let step3 = fill(&machine, other, 0, "x")
        #expect(step3 == array("x"))
        let step4 = fill(&machine, batch, 1, nil)
        #expect(step4 == "waiting")
        let step5 = fill(&machine, batch, 3, "d")
        #expect(step5 == array("a", "c", "d"))
        let step6 = fill(&machine, batch, 3, "d")
        #expect(step6 == "waiting")
    }

    @Test func `the length of an array counts all its replies`() throws {
        let replies = (1...3).map { Outgoing.result(.integer($0), JSONText(written: Array("{}".utf8))).frame(nil) }
        let framed = text(OutgoingFrame.batch(replies, .header))
        let parts = framed.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts[0] == "Content-Length: \(parts[1].utf8.count)")
        #expect(parts[1] + "\n" == text(OutgoingFrame.batch(replies, .line)))
        #expect(parts[1].hasPrefix(#"[{"jsonrpc""#) && parts[1].hasSuffix(#""result":{}}]"#))
    }

    @Test func `a batch of notifications gets no reply`() {
        var machine = BatchMachine()
        let batch = machine.open(2)
        let step7 = fill(&machine, batch, 0, nil)
        #expect(step7 == "waiting")
        let step8 = fill(&machine, batch, 1, nil)
        #expect(step8 == "nothing")
    }
}

struct NameSuggestionsTests {
    private let names = ["data.send", "data.start", "diagnostics.echo", "server.info", "rpc.discover"]

    @Test func `a slip of the finger is recognised`() {
        #expect(NameSuggestions.of("diagnostics.ehco", among: names).first == "diagnostics.echo")
        #expect(NameSuggestions.of("Data.Send", among: names).first == "data.send")
    }

    @Test func `exchanged letters are one slip`() {
        #expect(NameSuggestions.of("ulr", among: ["url", "tag"]) == ["url"])
        #expect(NameSuggestions.of("bdoy", among: ["body", "body2"]).first == "body")
        #expect(NameSuggestions.of("mehtod", among: ["metrics", "method"]) == ["method"])
    }

    @Test func `something else is not`() {
        #expect(NameSuggestions.of("as", among: ["tag", "url"]).isEmpty)
        #expect(NameSuggestions.of("mode", among: ["body", "name"]).isEmpty)
        #expect(NameSuggestions.of("textDocument/hover", among: names).isEmpty)
        #expect(NameSuggestions.of("", among: names).isEmpty)
    }
}
