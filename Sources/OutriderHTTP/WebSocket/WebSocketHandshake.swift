// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import OutriderJSON

/// The opening handshake, from the client's side (RFC 6455 sections 4.1 and 4.2.2).
package struct WebSocketHandshake: Sendable, Equatable {
    /// The outcome of the negotiation.
    package struct Agreement: Sendable, Equatable {
        /// The subprotocol; nil if the server chose none.
        package var subprotocol: String?
        package var deflate: DeflateAgreement?
        /// The server's Sec-WebSocket-Extensions, unchanged; nil if absent.
        package var extensions: String?
    }

    /// Fields that only the handshake writes.
    package static let reservedFields = [
        "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
        "Sec-WebSocket-Extensions", "Sec-WebSocket-Accept",
    ]

    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// Sec-WebSocket-Key: 16 random bytes in base64.
    package var key: String
    package var protocols: [String]
    /// Nil if compression is not offered.
    package var deflate: DeflateOffer?

    /// - Parameter random: 16 bytes that cannot be predicted.
    package init(random: [UInt8], protocols: [String] = [], deflate: DeflateOffer? = DeflateOffer()) {
        key = Base64.encode(random)
        self.protocols = protocols
        self.deflate = deflate
    }

    /// The fields of the request, beside Upgrade and Connection, which the transport writes.
    package var fields: HTTPFields {
        var fields: HTTPFields = []
        fields.add("Sec-WebSocket-Version", "13")
        fields.add("Sec-WebSocket-Key", key)
        if !protocols.isEmpty { fields.add("Sec-WebSocket-Protocol", protocols.joined(separator: ", ")) }
        if let deflate { fields.add("Sec-WebSocket-Extensions", deflate.field) }
        return fields
    }

    /// Sec-WebSocket-Accept of a response to the key.
    package static func accept(_ key: String) -> String {
        Base64.encode(Array(Insecure.SHA1.hash(data: Array((key + guid).utf8))))
    }

    /// Reads a response with status 101. Throws `webSocketHandshakeRefused` with the fault of the response.
    package func agreement(with fields: HTTPFields) throws(HTTPFailure) -> Agreement {
        let upgrades = fields.all("Upgrade").flatMap(FieldRules.listed)
        guard upgrades.count == 1, upgrades.allSatisfy({ HTTPFields.same($0, "websocket") }) else {
            throw refused("Upgrade in its response is not websocket", fields)
        }
        guard fields.all("Connection").flatMap(FieldRules.listed).contains(where: { HTTPFields.same($0, "Upgrade") })
        else { throw refused("Connection in its response is not Upgrade", fields) }
        guard fields.all("Sec-WebSocket-Accept") == [Self.accept(key)] else {
            throw refused("Sec-WebSocket-Accept in its response does not belong to the key", fields)
        }
        var agreement = Agreement()
        agreement.subprotocol = try chosenProtocol(fields)
        let extensions = fields.all("Sec-WebSocket-Extensions")
        if !extensions.isEmpty {
            let value = extensions.joined(separator: ", ")
            agreement.extensions = value
            do throws(WebSocketFault) {
                agreement.deflate = try DeflateOffer.agreement(value, to: deflate)
            } catch {
                throw refused(error.text, fields)
            }
        }
        return agreement
    }

    private func chosenProtocol(_ fields: HTTPFields) throws(HTTPFailure) -> String? {
        let chosen = fields.all("Sec-WebSocket-Protocol")
        guard let name = chosen.first else { return nil }
        guard chosen.count == 1, protocols.contains(name) else {
            throw refused("the server chose a subprotocol that was not offered", fields)
        }
        return name
    }

    private func refused(_ why: String, _ fields: HTTPFields) -> HTTPFailure { Self.refused(101, fields, why) }

    /// The failure of a handshake that ended with another response.
    package static func refused(_ status: Int, _ fields: HTTPFields, _ why: String? = nil) -> HTTPFailure {
        let text = why ?? "the server responded with status \(status), not 101"
        return HTTPFailure(
            .webSocketHandshakeRefused, "the WebSocket was not opened: \(text)", phase: .response,
            retryable: ValidationRule.transient.contains(status), sent: .sent,
            details: [.status(status), .headers(fields)])
    }

    /// Why a name cannot be offered as a subprotocol (RFC 6455 section 4.1 item 10); nil if valid.
    package static func fault(inProtocol name: String) -> String? {
        FieldRules.isToken(name)
            ? nil : "must be a token such as graphql-transport-ws, not \(FieldRules.shown(name))"
    }
}
