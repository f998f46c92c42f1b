"""What is brought into the sandbox beside the project."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import groundwire
from groundwire.tools._python_runner import support_files


def parts_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from parts_of(constant)


def test_the_bytecode_of_a_runner_is_its_source_compiled_and_names_no_folder_of_this_machine() -> None:
    files = support_files({})
    sources = {name: source for name, source in files.items() if name.endswith(".py")}
    assert "_gw_pytest_main.py" in sources
    for name, source in sources.items():
        compiled = files[f"__pycache__/{Path(name).stem}.{sys.implementation.cache_tag}.pyc"]
        code = marshal.loads(compiled[16:])
        assert code == compile(source, name, "exec", dont_inherit=True)
        assert {part.co_filename for part in parts_of(code)} == {name}
    here = str(Path(groundwire.__file__).parent).encode()
    assert not [name for name, content in files.items() if here in content]
