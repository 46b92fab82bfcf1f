// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The encoding of names and values as `name=value&name=value`. The defaults are those of Alamofire's form encoder.
package struct FormOptions: Sendable {
    package enum Arrays: Sendable, Equatable {
        /// `a[]=1&a[]=2`
        case brackets
        /// `a=1&a=2`
        case noBrackets
        /// `a[0]=1&a[1]=2`
        case indexInBrackets
        /// The name of each element; `{key}` is the list's name, `{index}` counts from 0, `{number}` from 1.
        case template(KeyTemplate)
    }

    package enum Bools: String, Sendable, CaseIterable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal
    }

    package enum KeyPaths: Sendable, Equatable {
        /// `parent[child]`
        case brackets
        /// `parent.child`
        case dots
        /// The part behind the parent's name; `{key}` stands for the child's name.
        case template(KeyTemplate)
    }

    package enum Nulls: Sendable, Equatable {
        /// left out
        case dropKey
        /// `a=`
        case dropValue
        /// `a=null`
        case null
        /// `a=` and this
        case text(String)
    }

    package enum Numbers: String, Sendable, CaseIterable {
        /// As they are written: `1.0` stays `1.0`.
        case written
        /// Without exponent and needless fraction: `1.0` becomes `1`.
        case plain
    }

    package enum Spaces: String, Sendable, CaseIterable {
        /// `%20`
        case percent
        /// `+`
        case plus
    }

    /// Of a body that is a form.
    package static let contentType = "application/x-www-form-urlencoded; charset=utf-8"

    package var arrays = Arrays.brackets
    package var bools = Bools.numeric
    package var keys = KeyStyle.default
    package var keyPaths = KeyPaths.brackets
    package var nulls = Nulls.dropKey
    package var numbers = Numbers.written
    package var values = ValueStyle()
    /// Sort the encoded members of each object by their bytes. Nil: sort objects, but not lists of names and values,
    /// whose order is significant. The elements of a list always keep their order.
    package var sorts: Bool?
    package private(set) var escaping = PercentEncoding.query

    package init() {}

    /// Sets the characters that are not escaped besides ASCII letters and digits. Characters with a meaning in forms
    /// are always escaped. Nil for RFC 3986's unreserved characters, `/` and `?`.
    package mutating func escape(allowing characters: String?, spaces: Spaces) {
        if characters == nil, spaces == .percent {
            escaping = .query
            return
        }
        let safe = (characters ?? "-._~/?").unicodeScalars.filter { scalar in
            scalar.value > 0x20 && scalar.value < 0x7F && !"%&+=#".unicodeScalars.contains(scalar)
        }
        escaping = PercentEncoding(keeping: String(String.UnicodeScalarView(safe)), spaceIsPlus: spaces == .plus)
    }

    /// The query of a URL: in the order given, a list repeats its name.
    package static var query: FormOptions {
        var options = FormOptions()
        options.arrays = .noBrackets
        options.sorts = false
        return options
    }

    /// A form as browsers send it (WHATWG URL section 5.2): like a query, but a space becomes `+`, and only letters,
    /// digits and `*-._` are not escaped.
    package static var browser: FormOptions {
        var options = query
        options.escaping = .form
        return options
    }
}

/// A name made of another: `{key}.{number}`.
package struct KeyTemplate: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text([UInt8])
        case key, index, number
    }

    private var pieces: [Piece] = []

    /// Braces around other text than `key`, `index` and `number` are literal.
    package init(_ text: String) {
        var rest = Array(text.utf8)[...]
        var plain: [UInt8] = []
        while !rest.isEmpty {
            let found = Self.words.first { rest.starts(with: $0.0) }
            guard let (word, piece) = found else {
                plain.append(rest.removeFirst())
                continue
            }
            if !plain.isEmpty { pieces.append(.text(plain)) }
            plain = []
            pieces.append(piece)
            rest = rest.dropFirst(word.count)
        }
        if !plain.isEmpty { pieces.append(.text(plain)) }
    }

    private static let words: [([UInt8], Piece)] = [
        (Array("{key}".utf8), .key), (Array("{index}".utf8), .index), (Array("{number}".utf8), .number),
    ]

    /// Nil for a name above 1 MiB: patterns could grow names without bound.
    func name(key: some Collection<UInt8>, index: Int = 0) -> [UInt8]? {
        let size = pieces.reduce(0) { size, piece in
            switch piece {
            case .text(let text): size &+ text.count
            case .key: size &+ key.count
            case .index, .number: size &+ 20
            }
        }
        if size > 1 << 20 { return nil }
        var name: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .text(let text): name += text
            case .key: name += key
            case .index: name += String(index).utf8
            case .number: name += String(index &+ 1).utf8
            }
        }
        return name
    }
}
