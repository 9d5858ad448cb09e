"""Every example of the README runs and prints what the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
_EXAMPLES = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", _README, re.DOTALL)


def test_the_readme_has_examples() -> None:
    assert len(_EXAMPLES) >= 2


@pytest.mark.parametrize(("code", "printed"), _EXAMPLES)
def test_an_example_prints_what_stands_below_it(
    code: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama", reason="the examples run on the vectors of extra `local`")

    exec(compile(code, "README.md", "exec"), {})

    assert capsys.readouterr().out == printed
