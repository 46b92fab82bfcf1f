// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderMethods
import OutriderRPC
import Testing

/// The code and the contract name the same things. What they mean is held to the contract over the wire, by
/// `Tests/EndToEnd/test_contract.py`.
struct SchemaTests {
    private static func document() throws -> JSONObject {
        let text = OpenRPC.document
        let bytes = Array(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        return try #require(try JSONParser.parse(bytes).object)
    }

    private static func list(_ name: String) throws -> [JSONObject] {
        let values = try #require(try document()[name]?.array)
        return values.compactMap(\.object)
    }

    @Test func `the methods that are answered are those of the contract`() throws {
        let described = try Self.list("methods").compactMap { $0["name"]?.string }
        #expect(Methods.table.names == described.sorted())
    }

    @Test func `every error code has the name and the number of the contract`() throws {
        let described = try Self.list("x-outrider-errors").map { "\($0["code"]?.integer ?? 0) \($0["name"]?.string ?? "")" }
        let known = RPCError.Code.allCases.map { "\($0.rawValue) \($0)" }
        #expect(Set(known) == Set(described))
    }

    @Test func `the features that are told are those of the contract`() throws {
        let described = try #require(try Self.document()["x-outrider-features"]?.object)
        #expect(Features.names.map(\.description).sorted() == described.members.map(\.name).sorted())
    }
}
