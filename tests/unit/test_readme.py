"""Every example of the README and the docs runs and prints what stands below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]
_EXAMPLE = re.compile(r"```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)
_EXAMPLES = [
    pytest.param(page.name, code, printed, id=f"{page.stem}-{number}")
    for page in _PAGES
    for number, (code, printed) in enumerate(_EXAMPLE.findall(page.read_text("utf-8")), 1)
]
_LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def test_the_readme_has_examples() -> None:
    assert len(_EXAMPLE.findall(_PAGES[0].read_text("utf-8"))) >= 2


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_block_of_python_is_an_example_with_its_output(page: Path) -> None:
    text = page.read_text("utf-8")

    assert text.count("```python") == len(_EXAMPLE.findall(text))


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    missing = [
        link for link in _LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()
    ]

    assert missing == []


@pytest.mark.parametrize(("page", "code", "printed"), _EXAMPLES)
def test_an_example_prints_what_stands_below_it(
    page: str, code: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wordllama", reason="the examples run on the vectors of extra `local`")

    exec(compile(code, page, "exec"), {})

    assert capsys.readouterr().out == printed
