"""Secrets are recognised and masked, and ordinary text is left alone."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import IN_ENVIRONMENT, PLANTED, SECRETS, VARIABLE

from groundwire.core import _masking as masking
from groundwire.core._masking import Masker, mask


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, IN_ENVIRONMENT)


@pytest.mark.parametrize("kind", PLANTED)
def test_a_secret_is_masked_wherever_it_stands(kind: str) -> None:
    text, secret = PLANTED[kind]
    for around in (text, f"before {text} after", f"(\n{text}\n)", f"{text} {text}", f"'{text}'"):
        masked = mask(around)
        assert secret not in masked
        assert "[masked " in masked
        assert mask(masked) == masked, "masking what is masked changes nothing"


@pytest.mark.parametrize("kind", PLANTED)
def test_so_it_is_in_json_which_stays_json(kind: str) -> None:
    text, secret = PLANTED[kind]
    for value in (text, [text], {"a": {"b": [1, None, text]}}, {text: 1}):
        masked = Masker().json(json.dumps(value))
        assert secret not in json.dumps(json.loads(masked), ensure_ascii=False)


def test_masked_json_is_canonical_and_clean_json_is_left_as_it_is() -> None:
    assert Masker().json('{"b": "' + SECRETS["OpenAI"] + '", "a": 1}') == '{"a":1,"b":"[masked key]"}'
    untouched = '{"b" : 2,  "a": "\\u0041"}'
    assert Masker().json(untouched) == untouched
    assert Masker().json(f"no json {SECRETS['AWS']}") == "no json [masked key]"


def test_json_without_end_is_masked_as_text() -> None:
    deep = "[" * 100_000 + f'"{SECRETS["AWS"]}"'
    assert Masker().json(deep).endswith('"[masked key]"')


def test_the_mark_says_what_it_was() -> None:
    assert mask(PLANTED["environment"][0]) == f"it is [masked {VARIABLE}]!"
    assert mask(PLANTED["URL"][0]) == "postgresql://ann:[masked password]@db.example/lessons"
    assert mask(PLANTED["bearer"][0]) == "Authorization: Bearer [masked secret]"
    assert mask(PLANTED["private key"][0]) == "[masked private key]\n"


def test_a_private_key_takes_no_more_than_itself() -> None:
    key = PLANTED["private key"][0]
    assert mask(f"before\n{key}between\n{key}after") == (
        "before\n[masked private key]\nbetween\n[masked private key]\nafter"
    )


def test_a_private_key_that_was_cut_off_is_found_among_others() -> None:
    cut, secret = PLANTED["private key, cut off"]
    texts = [cut, "x" * 30_000, "more"]
    assert not Masker().finds_none(texts)
    assert secret not in mask("".join([cut, "\n{...}\n", "x" * 30_000]))


@pytest.mark.parametrize("kind", SECRETS)
def test_the_rest_of_a_secret_whose_beginning_was_cut_out(kind: str) -> None:
    rest = SECRETS[kind][-18:]
    for what in ("1586 characters", "12 bytes"):
        masked = mask(f"head of the output\n… {what} cut …\n{rest} and more of it")
        assert rest not in masked and masked.endswith("cut …\n[masked secret] and more of it")
    plain = "head\n… 12 bytes cut …\nassert total == expected_value"
    assert mask(plain) == plain


def test_a_private_key_printed_in_quotes() -> None:
    for kind in ("private key", "private key, cut off"):
        text, secret = PLANTED[kind]
        assert secret not in mask(f"print({text!r})")


@pytest.mark.parametrize(
    "text",
    [
        "def total(token): return token + 1",
        "password = input()",
        "https://example.org:8080/path?x=1@2",
        "http://user@host/",
        "token = tokens[index_of_first_1]",
        "key: value",
        "task-sk-1 and risk-free",
        "the secret of a good test is a short one",
        "AKIA is a prefix",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text) == text


def test_short_values_of_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("PLAIN_NAME", "not a secret at all")
    assert mask("abc not a secret at all") == "abc not a secret at all"


def test_a_value_that_holds_another_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONG_SECRET", f"{IN_ENVIRONMENT} staple")
    assert mask(f"{IN_ENVIRONMENT} staple") == "[masked LONG_SECRET]"


@given(st.text(), st.sampled_from(list(PLANTED)), st.text())
def test_whatever_stands_around_it(before: str, kind: str, after: str) -> None:
    text, secret = PLANTED[kind]
    assert secret not in mask(f"{before} {text} {after}")


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_a_long_text_takes_linear_time() -> None:
    """Each pattern is bounded: a hostile text of a megabyte is no trap. Fails by running for hours."""
    for piece in ("eyJ" + "a" * 50, "://a:", "token=" + "a1" * 20 + "(", "-----BEGIN PRIVATE KEY-----", "sk-" * 10):
        mask(piece * (200_000 // len(piece)))


def test_a_known_value_is_masked_in_whatever_form(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "p@ss w/rd+9&é=Zq"
    monkeypatch.setenv("DB_PASSWORD", value)
    forms = [quote(value, safe=""), quote_plus(value), quote(value)]
    for before in ("", "u", "us", "user:", "longer:"):
        for after in ("", "!", "!!", ":end"):
            whole = f"{before}{value}{after}".encode()
            forms += [base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()]
    for form in forms:
        masked = mask(f"x {form} y")
        assert "[masked DB_PASSWORD]" in masked and mask(masked) == masked, form


@pytest.mark.parametrize("at", [1, 7, 15])
@pytest.mark.parametrize("broken", ["\n", "\r\n", "\n    ", '"\n    "', "' \\\n  '", " \\\n"])
def test_a_known_value_that_is_broken_over_two_lines(monkeypatch: pytest.MonkeyPatch, at: int, broken: str) -> None:
    value = "Zq8vWx31LmNp05Rt"
    monkeypatch.setenv("SOME_TOKEN", value)
    text = f"a = '{value[:at]}{broken}{value[at:]}'\nb"
    assert mask(text) == "a = '[masked SOME_TOKEN]'\nb"
    assert json.loads(Masker().json(json.dumps([text]))) == ["a = '[masked SOME_TOKEN]'\nb"]


def test_the_rest_of_a_key_on_the_next_line_goes_with_it() -> None:
    key = SECRETS["OpenAI"]
    assert mask(f"key: {key[:24]}\n  {key[24:]}\nnext") == "key: [masked key]\nnext"
    assert mask(f"{key}\nfollowing words, 2 of them") == "[masked key]\nfollowing words, 2 of them"


def test_an_account_key_of_a_connection_string() -> None:
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    text = f"DefaultEndpointsProtocol=https;AccountName=dev;AccountKey={key};EndpointSuffix=core.example"
    assert mask(text).startswith("DefaultEndpointsProtocol=https;AccountName=dev;AccountKey=[masked secret];Endpoint")


@pytest.mark.parametrize("value", ["ab'c\\d\" e9f 12345", "plain-value-1234567"])
@pytest.mark.parametrize("broken", ["\n", "'\n'", ' \\\r\n    "'])
def test_a_broken_value_is_found_whatever_it_is_made_of(
    monkeypatch: pytest.MonkeyPatch, value: str, broken: str
) -> None:
    """What a break is made of may stand in the value too."""
    monkeypatch.setenv("SOME_TOKEN", value)
    for at in range(1, len(value)):
        assert mask(f"see {value[:at]}{broken}{value[at:]} there\n") == "see [masked SOME_TOKEN] there\n", at


def test_a_variable_that_is_set_or_changed_later_is_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "first-value-123", "second-value-456"
    assert mask(f"{first} {second}") == f"{first} {second}"
    monkeypatch.setenv("SOME_TOKEN", first)
    before = Masker()
    assert mask(f"{first} {second}") == f"[masked SOME_TOKEN] {second}"
    monkeypatch.setenv("SOME_TOKEN", second)
    assert mask(f"{first} {second}") == f"{first} [masked SOME_TOKEN]"
    assert before(f"{first} {second}") == f"[masked SOME_TOKEN] {second}", "as it was when the masker was made"


NAMES = ("api_key", "X-API-Key", "token", "passwd", "PASSWORD", "client-secret", "tokens", "keys", "pass", "")
VALUES = ("abcdefghij1234567", "a1/" * 8, "short1", "nodigitshereatall", "12345678901234567890", "A" * 15 + "1")


@given(
    st.lists(st.sampled_from([*NAMES, *VALUES, " = ", ": ", "=", '": "', "'", " ", "\n", "é", "\u212a"]), max_size=12)
)
def test_the_quick_look_for_named_values_misses_none(parts: list[str]) -> None:
    text = "".join(parts)
    if masking._NAMED.search(text):  # pyright: ignore[reportPrivateUsage]
        assert masking._MAY_BE_NAMED.search(text.lower())  # pyright: ignore[reportPrivateUsage]
