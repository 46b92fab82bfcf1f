// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Testing

struct BatchMachineTests {
    private func fill(_ machine: inout BatchMachine, _ batch: Int, _ slot: Int, _ reply: String?) -> String {
        switch machine.fill(BatchPlace(batch: batch, slot: slot), reply.map { Array($0.utf8) }) {
        case .waiting: "waiting"
        case .nothing: "nothing"
        case .complete(let bytes): String(decoding: bytes, as: UTF8.self)
        }
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
        #expect(step3 == "[x]")
        let step4 = fill(&machine, batch, 1, nil)
        #expect(step4 == "waiting")
        let step5 = fill(&machine, batch, 3, "d")
        #expect(step5 == "[a,c,d]")
        let step6 = fill(&machine, batch, 3, "d")
        #expect(step6 == "waiting")
    }

    @Test func `a batch of notifications is not answered`() {
        var machine = BatchMachine()
        let batch = machine.open(2)
        let step7 = fill(&machine, batch, 0, nil)
        #expect(step7 == "waiting")
        let step8 = fill(&machine, batch, 1, nil)
        #expect(step8 == "nothing")
    }
}

struct NearNamesTests {
    private let names = ["data.send", "data.start", "diagnostics.echo", "server.info", "rpc.discover"]

    @Test func `a slip of the finger is recognised`() {
        #expect(NearNames.of("diagnostics.ehco", among: names).first == "diagnostics.echo")
        #expect(NearNames.of("Data.Send", among: names).first == "data.send")
    }

    @Test func `something else is not`() {
        #expect(NearNames.of("textDocument/hover", among: names).isEmpty)
        #expect(NearNames.of("", among: names).isEmpty)
    }
}
