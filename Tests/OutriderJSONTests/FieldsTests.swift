// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct FieldsTests {
    private struct Point: JSONDecodable, Equatable {
        var x: Int
        var y: Double?
        var tags: [String]

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let x: Int? = try fields.optional("x")
            y = try fields.optional("y") { $0 < 0 ? "must not be negative" : nil }
            tags = try fields.optional("tags") ?? []
            try fields.finish()
            self.x = try JSONFields.need("x", x)
        }
    }

    private struct Path: JSONDecodable {
        var points: [Point]
        var flag: Bool?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let points: [Point]? = try fields.optional("points")
            flag = try fields.optional("flag")
            try fields.finish()
            self.points = try JSONFields.need("points", points)
        }
    }

    @Test func `members are read, absent and null are the same`() throws {
        let path = try Path(json: parsed(#"{"flag":null,"points":[{"x":1},{"x":2.0,"y":3,"tags":["a"]}]}"#))
        #expect(path.points.count == 2)
        #expect(path.points[1].y == 3)
        #expect(path.points[1].tags == ["a"])
        #expect(path.flag == nil)
    }

    @Test func `Lisp and Lua may mix up what is empty, and write integers as reals`() throws {
        #expect(try Path(json: parsed(#"{"points":{}}"#)).points.isEmpty)
        #expect(throws: JSONComplaint.self) { try Path(json: parsed("[]")) }
        #expect(try Point(json: parsed(#"{"x":1e+15,"tags":{}}"#)).x == 1_000_000_000_000_000)
        #expect(try JSONObject(json: .array([])).isEmpty)
    }

    private struct Twice: JSONDecodable {
        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            _ = fields.value("x")
            _ = fields.value("y")
            _ = try fields.optional("x", as: Int.self)
            try fields.finish()
        }
    }

    @Test func `a name that is read twice is known once`() throws {
        let complaint = #expect(throws: JSONComplaint.self) { try Twice(json: parsed(#"{"z":1}"#)) }
        #expect(complaint?.known == ["x", "y"])
    }

    @Test func `_meta is welcome everywhere`() throws {
        #expect(try Point(json: parsed(#"{"x":1,"_meta":{"progressToken":1}}"#)).x == 1)
    }

    @Test(arguments: [
        (#"{}"#, "/points", "points is required"),
        (#"{"points":null}"#, "/points", "points is required"),
        (#"{"points":1}"#, "/points", "points must be an array, not an integer"),
        (#"{"points":[{"x":"a"}]}"#, "/points/0/x", "x must be an integer, not a string"),
        (#"{"points":[{"x":1},{"x":1.5}]}"#, "/points/1/x", "x must be an integer, not a number"),
        (#"{"points":[{"x":1},{"x":1e19}]}"#, "/points/1/x", "x must be an integer"),
        (#"{"points":[{"x":1,"y":-1}]}"#, "/points/0/y", "y must not be negative"),
        (#"{"points":[{"x":1,"y":"1"}]}"#, "/points/0/y", "y must be a number"),
        (#"{"points":[{"x":1,"tags":[1]}]}"#, "/points/0/tags/0", "must be a string, not an integer"),
        (#"{"points":[{"x":1,"z/z":1}]}"#, "/points/0/z~1z", "unknown parameter z/z"),
        (#"{"points":[],"flag":0}"#, "/flag", "flag must be true or false, not an integer"),
        (#"{"points":["a"]}"#, "/points/0", "must be an object, not a string"),
        (#""a""#, "", "must be an object, not a string"),
        (#"{"points":[],"Flag":true}"#, "/Flag", "unknown parameter Flag"),
    ])
    func `a complaint names the place and the remedy`(text: String, pointer: String, message: String) throws {
        let value = try parsed(text)
        let complaint = #expect(throws: JSONComplaint.self) { try Path(json: value) }
        #expect(complaint?.pointer.description == pointer)
        #expect(complaint?.message.contains(message) == true, "\(complaint?.message ?? "")")
    }

    @Test func `the error about an unknown name has the known ones`() throws {
        let value = try parsed(#"{"x":1,"q":2}"#)
        let complaint = #expect(throws: JSONComplaint.self) { try Point(json: value) }
        #expect(complaint?.known == ["x", "y", "tags"])
    }

    @Test func `which of several names are there can be asked`() throws {
        let fields = try JSONFields(parsed(#"{"text":"a","json":null,"form":{}}"#))
        #expect(fields.present(["text", "json", "form", "file"]).map(\.description) == ["text", "form"])
    }
}
