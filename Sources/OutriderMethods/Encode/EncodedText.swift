// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The common part of the `encode` methods: values encoded without a request.
enum EncodedText {
    private static let pointer = JSONPointer(member: "parameters")

    static func form(_ value: JSONValue, _ options: FormOptions) throws(RPCError) -> String {
        do throws(JSONComplaint) {
            return try FormWriter.text(of: FormValues(value), options)
        } catch {
            var refusal = RPCError(EncodedParameters.failure(error, .urlEncodedForm, at: pointer))
            if let known = error.known { refusal.data?["known"] = .array(known.map { .string($0) }) }
            throw refusal
        }
    }

    static func body(_ value: JSONValue, _ encoding: ParameterEncoding) throws(RPCError) -> EncodeJSON.Result {
        do throws(HTTPFailure) {
            let spec = ParameterSpec(value, encoding)
            switch try EncodedParameters.encode(spec, method: "POST", hasBody: false, at: pointer) {
            case .body(let bytes, let contentType): return EncodeJSON.Result(bytes: bytes, contentType: contentType)
            case .query, .nothing: return EncodeJSON.Result(bytes: [], contentType: "")
            }
        } catch {
            throw RPCError(error)
        }
    }
}

extension JSONFields {
    /// An encoding of a single kind.
    mutating func encoding(
        _ name: StaticString, _ kind: ParameterEncoding.Kind
    ) throws(JSONComplaint) -> ParameterEncoding {
        let given: EncodingParameter? = try optional(name)
        do throws(JSONComplaint) {
            if let given { return try given.encoding(kind, only: true) }
            return try EncodingParameter(json: .object([:])).encoding(kind)
        } catch {
            throw error.under(member: name.description)
        }
    }

    /// The options of a form.
    mutating func formOptions(_ name: StaticString) throws(JSONComplaint) -> FormOptions {
        guard case .form(let options, _) = try encoding(name, .urlEncodedForm) else { return FormOptions() }
        return options
    }
}

/// Bytes as text where they are UTF-8, else as base64.
struct BodyBytesShape {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func encodeMembers(to writer: inout JSONWriter) {
        if let text = String(validating: bytes, as: UTF8.self) {
            writer.member("text", text)
        } else {
            bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        }
    }
}
