// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct RequestCompressionTests {
    private static let preset: HTTPFields = [.init("content-encoding", "br"), .init("X", "1")]

    @Test func `a compressed request says so`() throws {
        var fields: HTTPFields = [.init("X", "1")]
        #expect(try RequestCompression(.gzip).begin(&fields, .bytes([1])))
        #expect(fields.list == [.init("X", "1"), .init("Content-Encoding", "gzip")])
    }

    @Test func `a Content-Encoding that is there already is an error [Y2] [3.T.4]`() {
        var fields = Self.preset
        #expect(throws: HTTPFailure.self) { try RequestCompression(.deflate).begin(&fields, .bytes([1])) }
    }

    @Test func `it is replaced where that is wanted [Y2] [3.T.5]`() throws {
        var fields = Self.preset
        #expect(try RequestCompression(.deflate, duplicate: .replace).begin(&fields, .bytes([1])))
        #expect(fields.list == [.init("X", "1"), .init("Content-Encoding", "deflate")])
    }

    @Test func `the request stays as it is where that is wanted [Y2] [3.T.5]`() throws {
        var fields = Self.preset
        #expect(try !RequestCompression(.deflate, duplicate: .skip).begin(&fields, .bytes([1])))
        #expect(fields == Self.preset)
    }

    @Test func `without a body, or with a short one, nothing happens [Y3] [Y4]`() throws {
        var fields = Self.preset
        #expect(try !RequestCompression(.gzip).begin(&fields, .none))
        #expect(try !RequestCompression(.gzip, minimumBytes: 3).begin(&fields, .bytes([1, 2])))
        #expect(fields == Self.preset)
        fields = []
        #expect(try RequestCompression(.gzip, minimumBytes: 3).begin(&fields, .bytes([1, 2, 3])))
    }
}
