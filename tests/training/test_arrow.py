"""Every form has a Parquet schema, also where nothing else was done before."""

from __future__ import annotations

import subprocess
import sys

CODE = """
from groundwire.training._arrow import schema_of
from groundwire.training._catalogue import form, form_names
for name in form_names():
    assert schema_of(form(name)).names == list(form(name).row.model_fields), name
print(len(form_names()))
"""


def test_every_form_has_a_parquet_schema_in_a_fresh_process() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 17
