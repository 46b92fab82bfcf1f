# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Compiles the targets of libFuzzer: the parsers of the product with counters of edges and comparisons. The packages
below them are those of the release, which saves most of the time. In CI, which builds the release at the same time, the
compiler waits for the modules of these packages, and the link for their objects.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

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
# whether the release is built at the same time
IS_STEP = "OUTRIDER_OBJECTS" in os.environ
RELEASE_SECONDS = 1200


class Missing(Exception):
    """Why nothing can be built."""


def planned(pattern: str) -> "list[list[str]]":
    """Lists of words with this name, in the plan of the release."""
    plan = ROOT / ".build/release.yaml"
    if not plan.exists():
        raise Missing(UNBUILT)
    return [json.loads(line) for line in re.findall(rf"^    {pattern}: (\[.*\])$", plan.read_text(), re.MULTILINE)]


def flags() -> "list[str]":
    """Those with which the release compiles its uppermost library: its C modules, language and package."""
    for words in planned("args"):
        if "-module-name" in words and words[words.index("-module-name") + 1] == "OutriderMethods":
            pairs = zip(words, words[1:])
            kept = {"-Xcc", "-swift-version", "-enable-upcoming-feature", "-package-name", "-target"}
            return [word for pair in pairs if pair[0] in kept for word in pair]
    raise Missing("the plan of the release does not say how the product is compiled")


def below() -> "list[str]":
    """The objects of the release but for those of the product."""
    for words in planned("inputs"):
        if any(word.endswith("/outrider.product/Objects.LinkFileList") for word in words):
            objects = [word for word in words if word.endswith(".o")]
            return [path for path in objects if not re.search(r"/(Outrider\w+|outrider)\.build/", path)]
    raise Missing("the plan of the release does not say what is linked")


def modules() -> "list[str]":
    """Those of other packages that the parsers of the release import."""
    parsers = re.compile(r"/Sources/Outrider(HTTP|Transport)/")
    inputs = [words for words in planned("inputs") if any(map(parsers.search, words))]
    found = {word for words in inputs for word in words if word.endswith(".swiftmodule")}
    return sorted(path for path in found if not re.search(r"/Outrider\w+\.swiftmodule$", path))


def await_all(files: "list[str]") -> None:
    end = time.monotonic() + (RELEASE_SECONDS if IS_STEP else 0)
    while not all(os.path.exists(path) for path in files):
        if time.monotonic() > end:
            raise Missing(UNBUILT)
        time.sleep(1)  # clock: compilation takes minutes


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
    await_all(modules())
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
    """With the packages below the parsers."""
    packages = below()
    await_all(packages)
    file = PLACE / "objects"
    file.write_text("\n".join(shlex.quote(str(path)) for path in [*objects, *packages]))
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

