# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The closing line of .ci/run is honest: it counts what ran, and what could not run is a failure."""

import pathlib
import shutil
import subprocess

import pytest
from house import CHECKOUT

GOOD = "echo 3 passed, 0 failed, 2 skipped"
NOTHING = "echo 0 passed, 0 failed, 0 skipped"


@pytest.fixture
def ci(tmp_path):
    """Runs .ci/run in a checkout whose steps are given as lines of shell."""

    def run(
        test=GOOD, debug=GOOD, check=GOOD, suites=None, clients="true", dropins=NOTHING, fuzz=NOTHING, release="true",
        tests="true",
    ):  # fmt: skip
        root = tmp_path / "checkout"
        for name, text in {
            "Package.swift": "",
            "Makefile": f"build:\n\t@{release}\ntest:\n\t@{test}\n",
            "scripts/test": f"#!/bin/sh\nif [ $1 = --build ]; then {tests}; else {debug}; fi\n",
            "scripts/check": f"#!/bin/sh\n{check}\n",
            "scripts/setup": f"#!/bin/sh\n[ $# = 0 ] || {{ {clients}; }}\n",
            "scripts/gently": '#!/bin/sh\nexec "$@"\n',
            "scripts/fuzz-parsers": f"#!/bin/sh\n[ \"$*\" = --fixed ] || exit 9\n{fuzz}\n",
            "Tests/Conformance/dropins.py": f"import os, sys\nsys.exit(os.system({dropins!r}) and 1)\n",
            "Tests/Packages/run.py": f"import os\nos.system({NOTHING!r})\n",
            "Tests/Conformance/run.py": f"import os, sys\nsys.exit(os.system({suites!r}) and 1)\n",
        }.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (root / ".ci").mkdir()
        shutil.copy(CHECKOUT / ".ci/run", root / ".ci/run")
        if suites is not None:
            pathlib.Path(tmp_path / "shared").mkdir()
        said = subprocess.run(["bash", str(root / ".ci/run")], capture_output=True, text=True, timeout=60)
        return said.returncode, said.stdout.splitlines()[-1]

    return run


def test_counts_are_added_up(ci):
    assert ci(suites="echo 10 passed, 0 failed, 1 skipped") == (0, "19 passed, 0 failed, 7 skipped")


def test_without_suites_beside_it_only_its_own_count(ci):
    assert ci() == (0, "9 passed, 0 failed, 6 skipped")


def test_a_failing_test_fails_it_and_the_rest_still_runs(ci):
    assert ci(test="echo 2 passed, 1 failed, 0 skipped; exit 1") == (1, "8 passed, 1 failed, 4 skipped")


def test_a_debug_build_that_fails_fails_it(ci):
    assert ci(debug="echo 2 passed, 1 failed, 0 skipped; exit 1") == (1, "8 passed, 1 failed, 4 skipped")


@pytest.mark.parametrize("broken", [{"release": "exit 1"}, {"tests": "exit 1"}])
def test_what_cannot_be_built_fails_it(ci, broken):
    assert ci(**broken) == (1, "9 passed, 1 failed, 6 skipped")


def test_suites_begin_when_the_release_is_there(ci):
    suites = "test -e built && echo 10 passed, 0 failed, 1 skipped"
    assert ci(release="sleep 2; touch built", suites=suites) == (0, "19 passed, 0 failed, 7 skipped")


def test_a_step_that_counts_nothing_is_a_failure(ci):
    assert ci(test="echo no compiler; exit 1") == (1, "6 passed, 1 failed, 4 skipped")


def test_a_step_that_fails_and_counts_no_failure_is_a_failure(ci):
    assert ci(check="echo 3 passed, 0 failed, 0 skipped; exit 7") == (1, "9 passed, 1 failed, 4 skipped")


def test_a_suite_that_fails_fails_it(ci):
    assert ci(suites="echo 1 passed, 2 failed, 0 skipped; exit 1") == (1, "10 passed, 2 failed, 6 skipped")


def test_drop_ins_that_fail_fail_it(ci):
    assert ci(dropins="echo 4 passed, 1 failed, 0 skipped; exit 1") == (1, "13 passed, 1 failed, 6 skipped")


def test_a_fault_of_a_parser_fails_it(ci):
    assert ci(fuzz="echo 42 passed, 1 failed, 0 skipped; exit 1") == (1, "51 passed, 1 failed, 6 skipped")


def test_parsers_that_cannot_be_built_fail_it(ci):
    assert ci(fuzz="echo fuzz-parsers: there is no clang; exit 1") == (1, "9 passed, 1 failed, 6 skipped")


def test_clients_that_cannot_be_installed_are_a_failure(ci):
    assert ci(suites="echo 1 passed, 0 failed, 9 skipped", clients="exit 1") == (1, "10 passed, 1 failed, 15 skipped")
