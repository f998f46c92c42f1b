"""The Arrow schema of a form's rows, from their types: a Parquet file then has the same columns whatever is in it."""

from __future__ import annotations

from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow
from pydantic import BaseModel

from groundwire.training._schema import Form

pa: Any = pyarrow  # it has no types


def schema_of(form: Form) -> Any:
    """The schema of a form's rows."""
    return pa.schema(_fields(form.row), metadata={"groundwire.training": form.name})


def _fields(model: type[BaseModel]) -> list[Any]:
    model.model_rebuild()  # what a computed column returns is known only then
    told = {name: field.annotation for name, field in model.model_fields.items()}
    told |= {name: field.return_type for name, field in model.model_computed_fields.items()}
    return [pa.field(name, _type(annotation)) for name, annotation in told.items()]


_PLAIN: dict[Any, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _type(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (one,) = [argument for argument in arguments if argument is not NoneType]
        return _type(one)
    if origin is Literal:
        return pa.string()
    if origin is tuple:
        # of a fixed length too: what is in it is of one type
        return pa.list_(_type(arguments[0]))
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return pa.string()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(_fields(annotation))
    raise TypeError(f"a column of {annotation!r} has no Arrow type")
