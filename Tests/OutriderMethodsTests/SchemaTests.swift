// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

/// The code and the contract name the same things. What they mean is held to the contract over the wire, by
/// `Tests/EndToEnd/service/test_contract.py`.
struct SchemaTests {
    private static func document() throws -> JSONObject {
        try #require(try JSONParser.parse(OpenRPC.line()).object)
    }

    private static func list(_ name: String) throws -> [JSONObject] {
        let values = try #require(try document()[name]?.array)
        return values.compactMap(\.object)
    }

    @Test func `the methods of the service are those of the contract`() throws {
        let described = try Self.list("methods").compactMap { $0["name"]?.string }
        #expect(Methods.table.names == described.sorted())
    }

    @Test func `every error code has the name and the number of the contract`() throws {
        let described = try Self.list("x-outrider-errors").map { error in
            "\(error["code"]?.integer ?? 0) \(error["name"]?.string ?? "")"
        }
        let known = RPCError.Code.allCases.map { "\($0.rawValue) \($0)" }
        #expect(Set(known) == Set(described))
    }

    @Test func `the features that are told are those of the contract`() throws {
        let described = try #require(try Self.document()["x-outrider-features"]?.object)
        #expect(Features.names.map(\.description).sorted() == described.members.map(\.name).sorted())
    }

    @Test func `the failures given are those of the contract, by number, kind and reason [AB1] [AB2]`() throws {
        let described = try Self.list("x-outrider-failures").map { failure in
            "\(failure["code"]?.integer ?? 0) \(failure["kind"]?.string ?? "") \(failure["reason"]?.string ?? "-")"
        }
        let known = HTTPFailure.Kind.allCases.map { kind in
            let code = kind.failureCode
            return "\(code.code) \(code.kind) \(code.reason?.description ?? "-")"
        }
        #expect(known.sorted() == described.sorted())
    }

    @Test func `failures that are usually worth repeating are those of the contract [AB4]`() throws {
        let described = try Self.list("x-outrider-failures")
        for kind in HTTPFailure.Kind.allCases {
            let failure = described.first { $0["code"]?.integer == Int64(kind.failureCode.code) }
            #expect(failure?["retryable"] == .bool(kind.usuallyRetryable), "\(kind)")
        }
    }
}
