"""From a model id to engine arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._models import Load, Request
from groundwire.core._traits import BackendTraits
from groundwire.models import VllmBackend, backend_for
from groundwire.models._vllm_server import server_arguments
from groundwire.models.vllm_engine import EngineOptions, parse_spec


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return str(folder)


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"r": 12}')
    return folder


def test_prefix_caching_and_priorities_are_on_unless_the_user_says_otherwise(model: str) -> None:
    arguments = parse_spec(model).options.engine_arguments()
    assert (arguments["model"], arguments["enable_prefix_caching"]) == (model, True)
    assert (arguments["scheduling_policy"], arguments["max_num_seqs"]) == ("priority", 256)
    given = parse_spec(f"{model}?max_num_seqs=8&dtype=bfloat16&enforce_eager=true", arguments={"load_format": "dummy"})
    arguments = given.options.engine_arguments()
    assert (arguments["max_num_seqs"], arguments["dtype"], arguments["enforce_eager"]) == (8, "bfloat16", True)
    assert arguments["load_format"] == "dummy" and given.options.capacity == 8
    shared = parse_spec(f"{model}?gpu_memory_utilization=0.12&kv_cache_memory_bytes=1073741824")
    arguments = shared.options.engine_arguments()
    assert (arguments["gpu_memory_utilization"], arguments["kv_cache_memory_bytes"]) == (0.12, 1 << 30), "a shared card"


def test_equal_options_are_one_engine(model: str) -> None:
    nested = {"compilation_config": {"level": 0, "sizes": [1, 2]}}
    one, two = (parse_spec(f"{model}?max_model_len=64", arguments=nested).options for _ in range(2))
    assert one == two and hash(one) == hash(two)
    assert one.engine_arguments()["compilation_config"] == nested["compilation_config"]
    assert one != parse_spec(f"{model}?max_model_len=65", arguments=nested).options


def test_an_adapter_gets_the_room_for_its_rank_and_a_name(model: str, adapter: Path) -> None:
    spec = parse_spec(f"{model}?lora={adapter}")
    arguments = spec.options.engine_arguments()
    assert (spec.lora, spec.name) == (str(adapter), "small+mine")
    assert (arguments["enable_lora"], arguments["max_lora_rank"]) == (True, 16)
    assert parse_spec(f"{model}?max_lora_rank=16").options == spec.options, "with and without it: one engine"


@pytest.mark.parametrize("option", ["trust_remote_code=true", "hf_overrides={}", "logits_processors=x", "nonsense=1"])
def test_what_would_run_a_strangers_code_is_not_for_a_model_id(model: str, option: str) -> None:
    with pytest.raises(ConfigError, match="can't be set in a model id"):
        parse_spec(f"{model}?{option}")


def test_weights_made_at_random_may_be_named_and_what_would_unpickle_or_fetch_them_not(model: str) -> None:
    told = parse_spec(f"{model}?load_format=dummy&max_num_seqs=8")
    assert told.options.engine_arguments()["load_format"] == "dummy"
    assert "--load-format=dummy" in server_arguments(told, 1)
    for other in ("pt", "tensorizer", "runai_streamer", ""):
        with pytest.raises(ConfigError, match=r"load_format=.* can't be set in a model id"):
            parse_spec(f"{model}?load_format={other}")


def test_what_is_not_there_is_said_before_anything_is_loaded(model: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config\.json"):
        backend_for(f"vllm:{tmp_path}/nothing")
    with pytest.raises(ConfigError, match="No model is named"):
        backend_for("vllm:")
    with pytest.raises(ConfigError, match="not a LoRA adapter"):
        backend_for(f"vllm:{model}?lora={tmp_path}/nothing")
    with pytest.raises(ConfigError, match="can't be an engine argument"):
        EngineOptions.of(model, {"executor": object()})


def test_the_backend_is_free_and_has_started_nothing(model: str) -> None:
    backend = backend_for(f"vllm:{model}?max_num_seqs=8")
    assert isinstance(backend, VllmBackend)
    assert (backend.model, backend.price(Request(messages=()))) == (f"vllm:{model}?max_num_seqs=8", 0.0)
    assert backend.load() == Load(0, 0, 8)
    assert backend.traits == BackendTraits(structured=True, prioritises=True, continues=True)
    assert backend_for("vllm:org/model").model == "vllm:org/model"
