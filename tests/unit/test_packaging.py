"""What is on disk, what is built and what is importable must agree."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("evals", "integrations", "nodes")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def _setuptools_table() -> dict[str, Any]:
    table: dict[str, Any] = _project()["tool"]["setuptools"]
    return table


def _packages_under(folder: Path) -> set[str]:
    return {".".join(init.parent.relative_to(ROOT).parts) for init in folder.rglob("__init__.py")}


def test_every_package_on_disk_is_built() -> None:
    # The links inside remember_graph/ are not followed by rglob, except as the folders they are.
    own = {name for name in _packages_under(ROOT / "remember_graph") if not _is_linked(name)}
    linked = {
        f"remember_graph.{name}" for folder in FOLDERS for name in _packages_under(ROOT / folder)
    }

    assert set(_setuptools_table()["packages"]) == own | linked


def _is_linked(package: str) -> bool:
    return package.split(".")[1:2] != [] and package.split(".")[1] in FOLDERS


def test_every_built_package_is_found_in_its_folder() -> None:
    table = _setuptools_table()

    for package in table["packages"]:
        assert (ROOT / table["package-dir"][package] / "__init__.py").is_file(), package


def test_every_module_lies_in_a_package() -> None:
    for folder in (*FOLDERS, "remember_graph"):
        for module in (ROOT / folder).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


@pytest.mark.parametrize("name", FOLDERS)
def test_the_link_points_at_the_folder(name: str) -> None:
    link = ROOT / "remember_graph" / name
    if not link.is_symlink():
        pytest.skip("this checkout has no links (Windows without developer mode)")

    assert link.resolve() == ROOT / name
    assert not link.readlink().is_absolute()


def test_generic_names_are_not_importable(tmp_path: Path) -> None:
    names = (*FOLDERS, "tests", "cli", "history")
    code = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"

    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)

    assert run.stdout.strip() == "[]"


def test_every_data_file_is_shipped() -> None:
    table = _setuptools_table()
    shipped = {
        path
        for package, patterns in table["package-data"].items()
        for pattern in patterns
        for path in (ROOT / table["package-dir"][package]).glob(pattern)
    }
    on_disk = {
        path
        for folder in (*FOLDERS, "remember_graph")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path.name not in FOLDERS
    }

    assert {path.resolve() for path in on_disk} == {path.resolve() for path in shipped}


def test_the_extra_all_is_every_extra_but_the_servers() -> None:
    project = _project()["project"]
    extras = set(project["optional-dependencies"]) - {"all", "vllm"}
    (everything,) = project["optional-dependencies"]["all"]

    named = everything.removeprefix(f"{project['name']}[").removesuffix("]").split(",")

    assert set(named) == extras


def test_the_versions_in_the_classifiers_begin_with_the_least_allowed() -> None:
    project = _project()["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [int(text.removeprefix(prefix)) for text in project["classifiers"] if prefix in text]

    assert project["requires-python"] == f">=3.{min(minors)}"
