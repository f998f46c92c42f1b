"""`groundwire plant`: bugs of a project that works, as examples of repair, and bugs that are held out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import groundwire, lay_out

SHOP = {
    "shop/__init__.py": "",
    "shop/price.py": (
        "def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n\n\n"
        "def cheap(price, most):\n    return price <= most\n"
    ),
    "tests/test_price.py": (
        "from shop.price import cheap, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n"
        "def test_cheap():\n    assert cheap(2, 2) and not cheap(3, 2)\n"
    ),
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "shop", SHOP)


@pytest.mark.slow
def test_bugs_that_a_test_notices_are_taught_and_those_of_a_held_out_project_become_tasks(
    shop: Path, tmp_path: Path
) -> None:
    other = lay_out(tmp_path / "other", SHOP)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "GROUNDWIRE_DB": f"sqlite:///{tmp_path / 'ledger.db'}"}
    tasks, rows = tmp_path / "tasks", tmp_path / "rows.jsonl"
    flags = ("--bugs", "6", "--hold-out", "oth*", "--tasks-out", tasks, "--json")
    ran = groundwire("plant", shop, other, *flags, env=env)
    assert ran.code == 0, ran.err
    taught, held = ran.data["projects"]
    assert taught["taught"] == taught["noticed"] > 2 and taught["held_out"] == 0
    assert held["held_out"] == held["noticed"] > 2 and held["taught"] == 0

    run = ran.data["run"]
    assert groundwire("verify", run, env=env).code == 0
    exported = groundwire("export", run, "--format", "sft", "--out", rows, "--json", env=env)
    assert exported.code == 0, exported.err
    told = [json.loads(line) for line in rows.read_text().splitlines()]
    assert len(told) == taught["taught"] and all(row["provenance"]["task"].startswith("shop-") for row in told)
    for row in told:
        asked, answer = row["prompt"][-1]["content"], row["completion"][0]["content"]
        assert '<evidence verdict="fail"' in asked and "<<<<<<< SEARCH" in answer
        assert row["provenance"]["origin"] == "env" and row["provenance"]["seals"] == "verified"

    folder = next(iter(sorted(tasks.iterdir())))
    assert folder.name.startswith("other-") and (folder / "task.toml").is_file()
    assert groundwire("task", "check", folder, "--solution", other, env=env).code == 0, "it fails, and is mended"


def test_what_can_t_be_planted_in_is_said(shop: Path, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "GROUNDWIRE_DB": f"sqlite:///{tmp_path / 'ledger.db'}"}
    lacking = groundwire("plant", shop, "--hold-out", "shop", env=env)
    assert lacking.code == 2 and "--tasks-out" in lacking.err
    same = groundwire("plant", shop, shop, env=env)
    assert same.code == 2 and "Two projects are called" in same.err
    (shop / "shop" / "price.py").write_text("def total(prices):\n    return 0\n")
    broken = groundwire("plant", shop, env=env)
    assert broken.code == 2 and "don't pass before anything is planted" in broken.err
