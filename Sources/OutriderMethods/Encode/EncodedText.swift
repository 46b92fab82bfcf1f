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
            if let known = error.known {
                refusal.data?["known"] = .array(known.map { .string($0) })
                refusal.message = RPCError(error.under(member: "parameters")).message
            }
            throw refusal
        }
    }

    static func body(_ value: JSONValue, _ encoding: ParameterEncoding) throws(RPCError) -> EncodedBody {
        do throws(HTTPFailure) {
            let spec = ParameterSpec(value, encoding)
            switch try EncodedParameters.encode(spec, method: "POST", hasBody: false, at: pointer) {
            case .body(let bytes, let contentType): return EncodedBody(bytes: bytes, contentType: contentType)
            case .query, .nothing: return EncodedBody(bytes: [], contentType: "")
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
