# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Compiles the targets of libFuzzer: the parsers of the product with counters of edges and comparisons. The packages
below them are those of the release, which saves most of the time.

    watched.py [--objects]

--objects compiles without linking, which needs only the modules of these packages: the release may still be built.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / ".build/fuzz/parsers"
RELEASE = ROOT / ".build/release"
TARGETS = ROOT / "Tests/Fuzz/Parsers"
# module: its sources, and the modules that must be there before
MODULES = {
    "OutriderFiles": (["**/*"], []),
    "OutriderJSON": (["**/*"], []),
    "OutriderHTTP": (["**/*"], ["OutriderJSON"]),
    "OutriderRPC": (["**/*"], ["OutriderJSON"]),
    "OutriderYAML": (["**/*"], ["OutriderJSON"]),
    # the rest of it needs sockets
    "OutriderTransport": (["Coding/*", "Bridges/H*"], ["OutriderHTTP"]),
    # reading rows of a cache; Tests/Fuzz/Parsers/Engine stands for what is below them
    "OutriderEngine": ([
        "Cache/CacheDatabase", "Cache/CacheFiles", "Cache/CachedEntry", "CredentialHelper/StoreFile",
        "SQLite/SQLiteDatabase", "Stores/DirectoryNames", "Stores/UserDirectory", "WallTime"],
        ["OutriderFiles", "OutriderHTTP"]),
}
# at the same time
STEPS = [["OutriderJSON", "OutriderFiles"], ["OutriderHTTP", "OutriderRPC", "OutriderYAML"],
         ["OutriderTransport", "OutriderEngine"]]

# calls that Parsers/Counters.swift takes first
TAKEN = ["8bit_counters_init", "pcs_init"]
# calls about comparisons, a million a second, which mean nothing to a run with a seed
IGNORED = [
    *(f"trace_{kind}cmp{size}" for kind in ("", "const_") for size in (1, 2, 4, 8)), "trace_switch", "trace_pc_indir"]

UNBUILT = "the packages below the parsers come from the release: make build"


class Missing(Exception):
    """Why nothing can be built."""


def flags() -> "list[str]":
    """Those with which the release compiles its uppermost library: its C modules, language and package."""
    plan = ROOT / ".build/release.yaml"
    if not plan.exists():
        raise Missing(UNBUILT)
    for line in re.findall(r"^    args: (\[.*\])$", plan.read_text(), re.MULTILINE):
        words = json.loads(line)
        if "-module-name" in words and words[words.index("-module-name") + 1] == "OutriderMethods":
            pairs = zip(words, words[1:])
            kept = {"-Xcc", "-swift-version", "-enable-upcoming-feature", "-package-name", "-target"}
            return [word for pair in pairs if pair[0] in kept for word in pair]
    raise Missing(f"{plan} does not say how the product is compiled")


def make(product: pathlib.Path, sources: "list[pathlib.Path]", command: "list[object]") -> pathlib.Path:
    """Runs the command, unless this command made the product after the last change of the sources."""
    words, stamp = [str(word) for word in [*command, "-o", product]], product.with_suffix(".command")
    if product.exists() and stamp.exists() and stamp.read_text() == "\n".join(words):
        if all(source.stat().st_mtime < product.stat().st_mtime for source in sources):
            return product
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"{product} cannot be made\n{done.stdout}{done.stderr}")
    # an object with the same content is left as it was
    product.touch()
    stamp.write_text("\n".join(words))
    return product


def module(name: str, common: "list[object]") -> pathlib.Path:
    patterns, needed = MODULES[name]
    sources = [path for pattern in patterns for path in sorted((ROOT / "Sources" / name).glob(f"{pattern}.swift"))]
    sources += sorted((TARGETS / name.removeprefix("Outrider")).glob("*.swift"))
    modules = [PLACE / "Modules" / f"{module}.swiftmodule" for module in needed]
    return make(PLACE / f"{name}.o", [*sources, *modules], [
        *common, "-module-name", name, "-parse-as-library", "-enable-testing", "-sanitize=fuzzer",
        "-emit-module", "-emit-module-path", PLACE / "Modules" / f"{name}.swiftmodule", "-c", *sources])


def build(follows_comparisons: bool = True) -> pathlib.Path:
    return link(compile_all(), follows_comparisons)


def compile_all() -> "list[pathlib.Path]":
    (PLACE / "Modules").mkdir(parents=True, exist_ok=True)
    helpers = [f"-fmodule-map-file={TARGETS}/{name}/module.modulemap" for name in ("CFuzzer", "CNghttp2")]
    common = ["swiftc", "-O", "-wmo", "-module-cache-path", PLACE / "cache", "-I", PLACE / "Modules", "-I",
              RELEASE / "Modules", *flags(), *(word for one in helpers for word in ("-Xcc", one))]
    objects = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for names in STEPS:
            objects += pool.map(lambda name: module(name, common), names)
    targets = sorted(TARGETS.glob("*.swift"))
    objects.append(make(PLACE / "targets.o", targets + objects, [*common, "-module-name", "targets", "-c", *targets]))
    return objects


def link(objects: "list[pathlib.Path]", follows_comparisons: bool) -> pathlib.Path:
    """With the objects of the release but for those of the product."""
    release = RELEASE / "outrider.product/Objects.LinkFileList"
    if not release.exists():
        raise Missing(UNBUILT)
    listed = release.read_text().splitlines()
    below = [path for path in listed if not re.search(r"/(Outrider\w+|outrider)\.build/", path)]
    file = PLACE / "objects"
    file.write_text("\n".join([*map(str, objects), *below]))
    # the flag of the compiler links a `main` of its own
    if shutil.which("clang") is None:
        raise Missing("there is no clang, which comes with the Swift toolchain")
    place = subprocess.run(["clang", "-print-resource-dir"], check=True, capture_output=True, text=True).stdout.strip()
    fuzzer = next(pathlib.Path(place).glob("lib/linux/libclang_rt.fuzzer_no_main-*.a"), None)
    if fuzzer is None:
        raise Missing(f"{place} has no libclang_rt.fuzzer_no_main: the toolchain comes without libFuzzer")
    words = ["-lstdc++", *(f"--wrap=__sanitizer_cov_{name}" for name in TAKEN)]
    if not follows_comparisons:
        for name in IGNORED:
            words += [f"--wrap=__sanitizer_cov_{name}", f"--defsym=__wrap___sanitizer_cov_{name}=ignoreComparison"]
    return make(PLACE / ("fuzz" if follows_comparisons else "fuzz-seeded"), objects, [
        "swiftc", "-static-stdlib", f"@{file}", fuzzer, *(part for word in words for part in ("-Xlinker", word))])


if __name__ == "__main__":
    try:
        print(*(compile_all() if "--objects" in sys.argv[1:] else [build()]), sep="\n")
    except Missing as why:
        sys.exit(f"fuzz-parsers: {why}")
