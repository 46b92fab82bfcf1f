// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Writes metrics in the text format of Prometheus, version 0.0.4: a family has its help, its type, and its samples.
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    struct Sample {
        var labels: [(name: StaticString, value: String)]
        var value: Double

        init(_ value: Double, _ labels: [(name: StaticString, value: String)] = []) {
            self.labels = labels
            self.value = value
        }

        init(_ value: Int, _ labels: [(name: StaticString, value: String)] = []) { self.init(Double(value), labels) }
    }

    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Leaves out a family without samples.
    mutating func add(_ name: StaticString, _ kind: Kind, _ help: StaticString, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        head(name, kind, help)
        for sample in samples { line(name, "", sample.labels, sample.value) }
    }

    mutating func add(_ name: StaticString, _ kind: Kind, _ help: StaticString, _ value: Int) {
        add(name, kind, help, [Sample(value)])
    }

    /// Histograms of a family, told apart by the values of a label; nil for a single histogram without a label.
    mutating func add(
        _ name: StaticString, _ help: StaticString, by label: StaticString? = nil, _ histograms: [(String, Histogram)]
    ) {
        head(name, .histogram, help)
        for (value, histogram) in histograms {
            let own = label.map { [(name: $0, value: value)] } ?? []
            let bounds = histogram.bounds.map(Self.number) + ["+Inf"]
            for (bound, count) in zip(bounds, histogram.cumulative) {
                line(name, "_bucket", own + [(name: "le", value: bound)], Double(count))
            }
            line(name, "_sum", own, histogram.sum)
            line(name, "_count", own, Double(histogram.count))
        }
    }

    private mutating func head(_ name: StaticString, _ kind: Kind, _ help: StaticString) {
        text += "# HELP \(name) \(Self.escaped(help.description, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(
        _ name: StaticString, _ suffix: StaticString, _ labels: [(name: StaticString, value: String)], _ value: Double
    ) {
        text += "\(name)\(suffix)"
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Backslashes and line feeds; quotes in the values of labels.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Whole numbers without a fraction; infinities and NaN in the terms of the format.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}
