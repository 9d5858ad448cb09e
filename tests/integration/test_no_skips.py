"""REMEMBER_GRAPH_NO_SKIPS=1: no component may be missing unnoticed where the tests must all run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

_CONFTEST = Path(__file__).parents[1] / "conftest.py"
_MODULES = {
    "test_cases.py": """
import pytest

def test_missing_component():
    pytest.skip("no such component")

def test_missing_data(shared):
    pass

@pytest.mark.xfail
def test_expected_failure():
    assert False
""",
    "test_whole_module.py": "import pytest\npytest.importorskip('no_such_module')\n",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Per test the letter that a run under the project's conftest gives it."""
    # Here the `shared` fixture of the conftest finds no data folder beside the tests.
    folder = tmp_path_factory.mktemp("skips")
    shutil.copy(_CONFTEST, folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, text in _MODULES.items():
        (folder / name).write_text(text)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider"),
            *("--continue-on-collection-errors", str(folder)),
        ],
        env={**os.environ, "REMEMBER_GRAPH_NO_SKIPS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = re.findall(r"^(FAILED|ERROR|XFAIL|SKIPPED) (.*)$", run.stdout, re.MULTILINE)
    return {line: outcome for outcome, line in lines}


def _outcome(outcomes: Mapping[str, str], part: str) -> str:
    return next((outcome for line, outcome in outcomes.items() if part in line), str(outcomes))


def test_a_skipped_test_fails(outcomes: Mapping[str, str]) -> None:
    assert _outcome(outcomes, "test_missing_component") == "FAILED"


def test_a_skipped_module_is_an_error(outcomes: Mapping[str, str]) -> None:
    assert _outcome(outcomes, "test_whole_module") == "ERROR"


def test_a_skip_for_want_of_the_data_folder_is_allowed(outcomes: Mapping[str, str]) -> None:
    assert _outcome(outcomes, "needs the data folder") == "SKIPPED"


def test_an_expected_failure_is_no_skip(outcomes: Mapping[str, str]) -> None:
    assert _outcome(outcomes, "test_expected_failure") == "XFAIL"
