"""What MkDocs is told beside the pages: those that are made of the code, their order, and a Markdown twin of each.

Pages link to files of the repository as GitHub shows them (`../examples/own_check.py`); here such a link leads to the
page that was made of the file, and one to a file that is no page keeps its text alone.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from _made import ROOT, pages, plain_reference  # noqa: E402
from _nav import nav_of  # noqa: E402

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
TEXTS: dict[str, str] = {}
"""Path of a page → its Markdown, as the reader gets it."""
TITLES: dict[str, str] = {}
IS_OF = {"bench/RESULTS.md": "results/index.md", "README.md": "index.md"}
"""Files of the repository, and the pages that stand for them."""


def on_files(files: Any, config: Any) -> Any:
    """Adds what is made of the code, and says in what order all of it comes."""
    TEXTS.clear()
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    config.nav = nav_of([file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leads links that leave the docs folder to pages."""
    own = page.file.src_uri
    known = {file.src_uri for file in files}

    def led(part: str) -> str:
        return LINK.sub(lambda found: _link(found, own, known), part)

    text = _outside_fences(markdown, led)
    TEXTS[own] = text
    return text


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Keeps the page's title for `llms.txt`."""
    TITLES[page.file.src_uri] = page.title or page.file.src_uri
    return context


def on_post_build(config: Any) -> None:
    """Writes each page's twin beside it, and `llms.txt`."""
    site = Path(config.site_dir)
    for path, text in TEXTS.items():
        twin = site / path
        twin.parent.mkdir(parents=True, exist_ok=True)
        if path.startswith("reference/python/"):
            text = plain_reference(path.removeprefix("reference/python/").removesuffix(".md"))
        twin.write_text(text)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    lines += ["Each page is also there as Markdown, under the address of its source.", ""]
    for entry in config.nav:
        lines += _listed(entry, "## ") if isinstance(entry, dict) else [_line(entry)]
    (site / "llms.txt").write_text("\n".join(lines) + "\n")


def _listed(entry: Any, marks: str) -> list[str]:
    if isinstance(entry, str):
        return [_line(entry)]
    ((title, inner),) = entry.items()
    lines = ["", f"{marks}{title}", ""] if len(marks) < 4 else []
    for each in inner:
        lines += _listed(each, f"#{marks}")
    return lines


def _line(path: str) -> str:
    text = re.sub(r"^(`{3,}).*?^\1[ \t]*$", "", TEXTS[path].partition("\n")[2], flags=re.MULTILINE | re.DOTALL)
    said = next((part for part in re.split(r"\n\s*\n", text) if re.match(r"\s*[A-Za-z`*\[]", part)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda found: found[1] or "", " ".join(said.split()))
    first = re.split(r"(?<=[.?!])\s|: ?$", plain)[0]
    return f"- [{TITLES[path]}]({path})" + (f": {first}" if first else "")


def _link(found: re.Match[str], own: str, known: set[str]) -> str:
    target, anchor = found[1], found[2] or ""
    if re.match(r"[a-z]+:", target) or target.startswith("/"):
        return found[0]
    lands = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
    if lands in known:
        return found[0]
    # a page made of a file of another folder has its links from there
    for base in (posixpath.join("docs", posixpath.dirname(own)), "bench"):
        place = posixpath.normpath(posixpath.join(base, target))
        page = _page_of(place)
        if page in known:
            return f"]({posixpath.relpath(page, posixpath.dirname(own) or '.')}{anchor})"
        if (ROOT / place).exists():
            return f"](<{place}>)"  # taken away below
    return found[0]


def _page_of(place: str) -> str:
    if place in IS_OF:
        return IS_OF[place]
    if place.startswith("examples/") and place.endswith(".py"):
        return place.removesuffix(".py") + ".md"
    return place.removeprefix("docs/")


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    parts = re.split(r"(^(`{3,}|~{3,}).*?^\2[ \t]*$)", markdown, flags=re.MULTILINE | re.DOTALL)
    text = ""
    for number in range(0, len(parts), 3):
        text += change(parts[number])
        text += parts[number + 1] if number + 1 < len(parts) else ""
    # what the site has no page for is named, and not linked
    return re.sub(r"\[([^\]]+)\]\(<[^>]*>\)", r"\1", text)
