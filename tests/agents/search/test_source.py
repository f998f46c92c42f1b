"""Spans are bytes of the file as it stands, whatever its layout."""

from __future__ import annotations

import libcst as cst
import pytest

from groundwire.agents.search._source import Source, parse_source

CODE = "# é\ndef f(a, b):  # ü\n    if (  a + b ) < len( a ) :\n        return [x for x in a]\n    return a.b(c=1)\n"


def source(code: str = CODE) -> Source:
    found = parse_source("m.py", code.encode())
    assert found is not None
    return found


def test_text_is_what_stands_there() -> None:
    s = source()
    texts = [s.text(site) for site in s.expressions]
    assert texts[:5] == ["(  a + b ) < len( a )", "a + b", "a", "b", "len( a )"]


def test_outer_span_takes_in_parentheses_and_their_space() -> None:
    s = source()
    site = next(site for site in s.expressions if s.text(site) == "a + b")
    assert s.data[slice(*site.outer)].decode() == "(  a + b )"
    plain = next(site for site in s.expressions if s.text(site) == "len( a )")
    assert plain.outer == (plain.start, plain.end)


def test_nested_parentheses() -> None:
    s = source("x = ((a + b))\n")
    site = next(site for site in s.expressions if s.text(site) == "a + b")
    assert s.data[slice(*site.outer)].decode() == "((a + b))"


def test_a_comment_inside_parentheses() -> None:
    s = source("x = (  # why (\n    a + b)\n")
    site = next(site for site in s.expressions if s.text(site) == "a + b")
    assert s.text(site) == "a + b"
    assert s.data[slice(*site.outer)].decode() == "(  # why (\n    a + b)"


def test_what_is_not_evaluated_is_left_out() -> None:
    s = source(
        "import os.path as p\nfrom q import r\n@deco(1)\ndef f(u, v=2):\n    '''Doc.'''\n    global w\n"
        "    t[i], z = 3, g(k=4)\n    for y in h: pass\n    return o.at\n"
    )
    texts = {s.text(site) for site in s.expressions}
    assert texts == {"2", "i", "3, g(k=4)", "3", "g(k=4)", "g", "4", "h", "o.at", "o"}


def test_statements_functions_and_lines() -> None:
    s = source()
    assert [site.line for site in s.statements] == [2, 3, 4, 5]
    assert [s.line_of(site.start) for site in s.functions] == [2]
    branch = s.statements[1]
    assert isinstance(branch.node, cst.If)
    assert s.last_line(branch) == 4
    assert s.indent(branch) == "    "
    assert branch.function is s.functions[0]
    assert s.functions[0].function is None
    assert s.line_start(6) == len(s.data)


def test_first_line_of_a_decorated_function() -> None:
    s = source("x = 1\n\n@a\n@b\ndef f(): pass\n")
    assert s.first_line(s.functions[0]) == 3


def test_line_ends() -> None:
    assert source("a = 1\r\nb = 2\r\n").newline == "\r\n"
    s = source("a = 1\nb = 2")
    assert s.newline == "\n"
    assert [s.line_start(n) for n in (1, 2, 3)] == [0, 6, 11]


@pytest.mark.parametrize("data", [b"def f(:\n", b"\xff\xfe", b"x = '\x00'\n", b"#" * (1024 * 1024 + 1)])
def test_what_cannot_be_parsed_is_none(data: bytes) -> None:
    assert parse_source("m.py", data) is None


def test_an_empty_file() -> None:
    found = parse_source("m.py", b"")
    assert found is not None
    assert found.expressions == []


def test_deep_nesting_is_none_or_parsed_and_never_raises() -> None:
    parse_source("m.py", b"x = " + b"(" * 3000 + b"1" + b")" * 3000 + b"\n")
    for code in (b"-" * 900 + b"1", b"a and " * 50_000 + b"a", b'"" ' * 5000, b"a" + b".b" * 900, b"1+" * 900 + b"1"):
        assert parse_source("m.py", b"x = " + code + b"\n") is None
    found = parse_source("m.py", b"if a: pass\n" + b"elif a: pass\n" * 60)
    assert found is not None
    assert len(found.statements) == 61
