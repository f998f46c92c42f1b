from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.graphs import library
from groundwire.graphs.library._catalogue import NAMES, builder, card, cards, drawing


def test_every_module_that_holds_a_graph_is_listed_under_its_own_name() -> None:
    folder = Path(library.__file__).parent
    holding = {path.stem.removeprefix("_") for path in folder.glob("*.py") if "CARD = GraphCard(" in path.read_text()}
    assert set(NAMES) == holding
    assert [one.name for one in cards()] == list(NAMES)


def test_only_a_control_names_no_origin() -> None:
    assert all(bool(one.origins) == one.grounded for one in cards())


def test_an_unknown_graph_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no graph 'code_repiar'") as caught:
        card("code_repiar")
    assert "code_repair" in caught.value.do


def test_every_graph_has_a_page_a_drawing_and_a_row_in_the_index() -> None:
    pages = Path(__file__).parents[3] / "docs" / "graphs"
    index = (pages / "index.md").read_text()
    for name in NAMES:
        assert callable(builder(name)) and "──►" in drawing(name)
        origins = ", ".join(origin.value for origin in card(name).origins)
        assert (pages / f"{name}.md").exists()
        assert f"| [{name}]({name}.md) | {card(name).does} | {origins} |" in index
