"""The normal form of a bare answer: numbers exactly, with their units; LaTeX and typed mathematics alike; words as
they are said. It computes nothing but numbers: whether (x+1)² is x²+2x+1 is for a library to say (extra `math`).
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

LONG = 1000
"""Characters from which on an answer is compared as text alone."""
DEEP = 12
"""Brackets within brackets whose elements are compared one by one."""
DIGITS = 60
"""Digits of a number that is read as one, and of its power of ten."""

# Other characters for the same thing.

_TYPED = str.maketrans({
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "⁄": "/",
    "’": "'", "‘": "'", "“": '"', "”": '"', "≤": "<=", "≥": ">=", "≠": "!=", "π": "pi", "∞": "inf", "º": "°",
    "\u00a0": "\u2009", "\u202f": "\u2009", "：": ":", "，": ",", "（": "(", "）": ")", "％": "%", "＝": "=", "＋": "+",
    "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅛": " 1/8", "⅜": " 3/8", "⅝": " 5/8", "⅞": " 7/8",
    "²": "^2", "³": "^3", "⁴": "^4", "ⁿ": "^n", "∪": " cup ", "∩": " cap ", "∈": " in ",
})  # fmt: skip
_THIN = re.compile(r"(?<=\d)(?:\u2009|\{,\}|\\[,!;:])(?=\d{3}(?!\d))")
"""What parts thousands and is nothing else."""
_KEEPS_CASE = re.compile(r"\\[A-Za-z]+|[^\\]+|\\")

# LaTeX as it would be typed.

_DROPPED = re.compile(
    r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|textstyle|limits|mathstrut)(?![A-Za-z])|\\[,;:!]|\\phantom\{[^{}]*\}"
)
_NAMES = {
    "cdot": "*", "times": "*", "div": "/", "pi": "pi", "infty": "inf", "pm": "±", "mp": "∓", "le": "<=", "leq": "<=",
    "ge": ">=", "geq": ">=", "ne": "!=", "neq": "!=", "lt": "<", "gt": ">", "cup": "cup", "cap": "cap", "in": "in",
    "degree": "°", "circ": "°", "approx": "≈", "dots": "...", "ldots": "...", "cdots": "...", "quad": " ", "qquad": " ",
    "euro": "€", "pounds": "£", "lbrace": "{", "rbrace": "}", "colon": ":",
    **{name: name for name in ("sin", "cos", "tan", "log", "ln", "exp", "arcsin", "arccos", "arctan")},
}  # fmt: skip
_NAMED = re.compile(rf"\\({'|'.join(sorted(_NAMES, key=len, reverse=True))})(?![A-Za-z])")
_SHORT_FRAC = re.compile(r"\\frac[ ]?([0-9a-z])[ ]?([0-9a-z])")
_HALF_SHORT_FRAC = re.compile(r"\\frac[ ]?([0-9a-z])[ ]?\{|\\frac(\{[^{}]*\})[ ]?([0-9a-z])")
_FRAC = re.compile(r"(?P<whole>(?<![\w.)}])\d{1,9})?[ ]?\\frac[ ]?\{(?P<over>[^{}]*)\}[ ]?\{(?P<under>[^{}]*)\}")
_ROOT = re.compile(r"\\sqrt[ ]?(?:\[([^\[\]]{1,20})\])?[ ]?(?:\{([^{}]*)\}|([0-9a-z]))")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mathbb|mbox|operatorname|boxed|fbox)[ ]?\{([^{}]*)\}"
)
_UP = re.compile(r"([\^_])[ ]?\{([^{}]*)\}")
_OVERLINE = re.compile(r"(\d*)\.(\d*)\\overline[ ]?\{(\d{1,20})\}")
_ATOM = re.compile(r"-?(?:\d+(?:\.\d+)?|[^\W\d_]|[^\W\d_]*\([^()]*\))|°")
"""What needs no brackets under a fraction's line: 2x does, where 1/2x would say another thing."""
_ROOT_SIGN = re.compile(r"√[ ]?(?:\(([^()]*)\)|(\w+))")

# Numbers, as exact fractions.

_DECIMAL = r"(?:\d+(?:\.\d*)?|\.\d+)"
_THOUSANDS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)[ ]?(?:(?P<whole>\d+)[ ](?P<top>\d+)/(?P<down>\d+)(?![\d.])"
    rf"|(?P<number>{_THOUSANDS}(?![\d,])|{_DECIMAL})(?:[ ]?(?:[ex*][ ]?10\^|e)(?P<power>\(?[-+]?\d{{1,9}}\)?)(?!\d))?"
    rf"(?:[ ]?/[ ]?(?P<under>[-+]?{_DECIMAL}))?)"
)
_POWER_OF_TEN = re.compile(r"([-+]?)10\^\(?([-+]?\d{1,9})\)?")

_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_DOLLARS = {"$", "us$", "usd", "dollar", "dollars", "us dollars", "u.s. dollars"}
_MONEY = {"€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "¥": "jpy", "₹": "inr"}
_MEASURES = {
    "mm": "millimeter millimetre", "cm": "centimeter centimetre", "m": "meter metre", "km": "kilometer kilometre kms",
    "in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile", "mg": "milligram", "g": "gram",
    "kg": "kilogram", "lb": "pound lbs", "oz": "ounce", "t": "ton tonne", "ms": "millisecond", "s": "second sec secs",
    "min": "minute mins",
    "h": "hour hr hrs", "day": "", "week": "", "month": "", "year": "yr yrs", "ml": "milliliter millilitre",
    "l": "liter litre", "gal": "gallon", "pt": "pint", "qt": "quart", "cup": "", "ct": "cent", "penny": "pennies",
    "dime": "", "nickel": "", "quarter": "", "mph": "", "kmh": "kph km/h", "m/s": "", "rad": "radian", "°c": "celsius",
    "°f": "fahrenheit", "k": "kelvin", "j": "joule", "kj": "kilojoule", "w": "watt", "kw": "kilowatt", "v": "volt",
    "n": "newton", "hz": "hertz", "pa": "pascal", "mol": "mole", "kb": "kilobyte", "mb": "megabyte", "gb": "gigabyte",
    "dozen": "", "pair": "", "square": "sq", "cubic": "cu", "per": "", "half": "halves", "third": "", "fourth": "",
    "fifth": "", "tenth": "",
}  # fmt: skip
_UNITS = {
    spelled: unit
    for unit, names in _MEASURES.items()
    for name in (unit, *names.split())
    for spelled in ((name, f"{name}s") if len(name) > 2 else (name,))
}
"""Units that have others of their kind beside them, in one spelling; a number means something else without its own."""
_NO_UNIT = frozenset({
    "times", "or", "and", "to", "not", "more", "less", "fewer", "than", "the", "for", "plus", "minus", "divided",
    "point", "percentage", "percent", "modulo", "mod", "even", "odd", "because", "since", "but", "with", "from",
    "about", "between", "squared", "cubed", "remainder", "base", "prime", "primes",
})  # fmt: skip
"""Words behind a number that say more than what was counted."""
_COUNTED = re.compile(r"[^\W\d_]{3,}(?:[- ][^\W\d_]{3,}){0,3}")
_PER_CENT = {"%", "percent", "per cent", "pct"}
_LETTER = re.compile(r"(?:(?:option|choice|answer)[ ])?[(\[]?[ ]?([a-z])[ ]?[)\].:]{0,2}")
_EXACTLY = re.compile(r"[a-z][ ]?=[ ]?([^=]+)")
_MATHS = re.compile(r"[\d^=+*/<>|±\\()\[\]{}-]")
_FUNCTIONS = frozenset({
    "sqrt", "root", "pi", "inf", "sin", "cos", "tan", "log", "ln", "exp", "lim", "cup", "cap", "in", "mod",
    "arcsin", "arccos", "arctan",
})  # fmt: skip
_LONG_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}|(?<=[\d_])[^\W\d_]{2,}")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


def normal_form(bare: str) -> str:
    """The form in which equal answers are equal; see `groundwire.core._answers.plain_answer`.

    Args:
        bare: an answer without what surrounds it (`bare_answer`).
    """
    said = " ".join(bare.split(" ")).strip()
    if len(said) > LONG:
        return " ".join(said.casefold().split())
    said = "".join(
        part if part.startswith("\\") else part.translate(_TYPED).casefold() for part in _KEEPS_CASE.findall(said)
    )
    said = _THIN.sub("", said).replace("\u2009", " ")
    return _compared(" ".join(_typed(said).split()), 0)


def _typed(said: str) -> str:
    """LaTeX as one would type it."""
    said = _ROOT_SIGN.sub(lambda found: f"sqrt({found[1] or found[2]})", said)
    if "\\" not in said and "^" not in said and "$" not in said:
        return said
    said = said.replace("\\%", "%").replace("\\$", "$").replace("\\{", "\x01").replace("\\}", "\x02")
    said = said.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("\\cfrac", "\\frac")
    said = re.sub(r"\\[ ]|~", " ", _DROPPED.sub("", said))
    said = _NAMED.sub(lambda found: f"{_NAMES[found[1]]} " if _NAMES[found[1]].isalpha() else _NAMES[found[1]], said)
    said = re.sub(r"(?<=\w)[ ](?=[),\]}])", "", said)
    # a name ended by the blank that parts it from what follows, as in LaTeX
    if said.count("$") >= 2 and not re.search(r"\$\d[^$]*\Z", said):
        said = said.replace("$", "")
    said = _SHORT_FRAC.sub(r"\\frac{\1}{\2}", said)
    said = _HALF_SHORT_FRAC.sub(
        lambda found: f"\\frac{{{found[1]}}}{{" if found[1] else f"\\frac{found[2]}{{{found[3]}}}", said
    )
    for _ in range(DEEP):
        before = said
        said = _OVERLINE.sub(_repeating, said)
        said = _TEXT.sub(r" \1 ", said)
        said = _ROOT.sub(_root, said)
        said = _FRAC.sub(_fraction, said)
        said = _UP.sub(lambda found: f"{found[1]}{_grouped(found[2].strip())}", said)
        if said == before:
            break
    return re.sub(r"[ ]\^", "^", said).replace("^°", "°").replace("\x01", "{").replace("\x02", "}")


def _root(found: re.Match[str]) -> str:
    of = found[2] if found[2] is not None else found[3]
    return f"root({found[1]},{of})" if found[1] else f"sqrt({of})"


def _fraction(found: re.Match[str]) -> str:
    made = f"{_grouped(found['over'].strip())}/{_grouped(found['under'].strip())}"
    if not found["whole"]:
        return made
    return f"{found['whole']} {made}" if re.fullmatch(r"\d+/\d+", made) else f"{found['whole']}*({made})"


def _repeating(found: re.Match[str]) -> str:
    whole, fixed, again = found[1] or "0", found[2], found[3]
    if len(whole + fixed + again) > DIGITS:
        return found[0].replace("\\", "")
    value = Fraction(int(whole + fixed + again) - int(whole + fixed), 10 ** len(fixed) * (10 ** len(again) - 1))
    return f"{value.numerator}/{value.denominator}"


def _grouped(said: str) -> str:
    return said if _ATOM.fullmatch(said) else f"({said})"


def _compared(said: str, depth: int) -> str:
    said = said.strip(" ,;:\"'`").removeprefix("≈").strip()
    said = said.rstrip(".") if not said.endswith("...") else said
    if letter := _LETTER.fullmatch(said):
        return letter[1]
    if (number := _quantity(said)) is not None:
        return number
    if exactly := _EXACTLY.fullmatch(said):
        return _compared(exactly[1], depth)
    if depth < DEEP:
        inner, parts = _elements(said)
        if inner and len(parts) == 1 and said[0] == "(":
            return _compared(said[1:-1], depth + 1)
        if inner or len(parts) > 1:
            forms = [_compared(part, depth + 1) for part in parts]
            if inner and said[0] == "{":
                forms.sort()
            return f"{said[0]}{','.join(forms)}{said[-1]}" if inner else ",".join(forms)
    said = said.rstrip("!") if _LONG_WORD.search(said[-3:]) else said
    if is_mathematical(said):
        said = re.sub(r"(?<!\d)[ ]|[ ](?!\d)", "", said)  # "1 000 2" is not 10002
        said = re.sub(r"(?<=\d)\*(?=[a-z(])", "", said)  # 2*x, 2x
    return said


def is_mathematical(said: str) -> bool:
    """True for digits, signs, single letters and the names of functions: no words are said in it."""
    return bool(_MATHS.search(said)) and set(_LONG_WORD.findall(said)) <= _FUNCTIONS


def _elements(said: str) -> tuple[bool, list[str]]:
    """Whether one pair of brackets holds it all, and the parts between commas, in them or outside of any."""
    opens, stack, ends_at, commas = said[:1], [""], -1, list[int]()
    for place, letter in enumerate(said):
        if letter in "([{":
            stack.append(letter)
        elif letter in ")]}" and len(stack) > 1:
            stack.pop()
            if len(stack) == 1 and ends_at < 0:
                ends_at = place
    inner = opens in _CLOSES and ends_at == len(said) - 1 and len(said) > 2
    wanted, level = (1, 0) if inner else (0, 0)
    for place, letter in enumerate(said):
        level += (letter in "([{") - (letter in ")]}")
        if letter == "," and level == wanted:
            commas.append(place)
    if not inner and not all(re.match(r"[ ]|\S", said[place + 1 :]) for place in commas):
        return False, [said]
    edges = [0 if inner else -1, *commas, len(said) - 1 if inner else len(said)]
    return inner, [said[start + 1 : end] for start, end in pairwise(edges)]


def _quantity(said: str) -> str | None:
    """A number with its unit, if it is one; None for anything else."""
    money = re.match(r"([-+]?)[ ]?(us\$|usd|\$|€|eur|£|gbp|¥|₹)[ ]?(?=[-+]?[.\d])", said)
    unit = ""
    if money:
        said = f"{money[1]}{said[money.end() :]}"
        unit = "" if money[2] in _DOLLARS else f" {_MONEY[money[2]]}"
    if power := _POWER_OF_TEN.fullmatch(said):
        said = f"{power[1]}1e{power[2]}"
    while said[:1] == "(" and said[-1:] == ")" and _NUMBER.fullmatch(said[1:-1]) and "," not in said:
        said = said[1:-1]
    said = re.sub(r"\A([-+])\((?=[^()]+\)\Z)(.*)\)\Z", r"\1\2", said)
    found = _NUMBER.match(said)
    value = _value(found) if found else None
    if found is None or value is None:
        return None
    rest = said[found.end() :].strip(" .")
    named = None if rest and money and rest not in _DOLLARS | set(_SCALES) else _unit(rest)
    if named is None:
        return None
    power, of = named
    return f"{_written(value * 10**power)}{unit}{of}"


def _unit(rest: str) -> tuple[int, str] | None:
    """The power of ten that a unit stands for, and how it is written; None where it is no unit."""
    first, _, others = rest.partition(" ")
    if first in _SCALES:
        told = _unit(others.strip())
        return (_SCALES[first] + told[0], told[1]) if told else None
    if not rest or rest in _DOLLARS or rest in ("°", "degree", "degrees", "deg"):
        return 0, ""
    if rest in _MONEY:
        return 0, f" {_MONEY[rest]}"
    if rest in _PER_CENT:
        return 0, "%"
    gloss = rest[1:-1] if rest[0] == "(" and rest[-1] == ")" else ""
    if re.fullmatch(r"[^\W\d_]{3,}(?:[ -][^\W\d_]+){0,5}", gloss) and not _NO_UNIT & set(re.split("[ -]", gloss)):
        return 0, ""  # 18 (eighteen)
    words = re.findall(r"°?[^\W\d_]+(?:/[^\W\d_]+)?(?:\^[23])?|\S", rest.replace("-", " "))
    if any(word.split("^")[0] in _UNITS for word in words) and all(re.match(r"°?[^\W\d_]", word) for word in words):
        return 0, " " + " ".join(_UNITS.get(word, word) for word in _powers(words))
    if _COUNTED.fullmatch(rest) and not _NO_UNIT & set(words) and not _FUNCTIONS & set(words):
        return 0, ""
    return None


def _powers(words: list[str]) -> list[str]:
    """`m^2` and `square meters` alike."""
    told: list[str] = []
    for word in words:
        unit, _, power = word.partition("^")
        told += [{"2": "square", "3": "cubic"}[power], unit] if power else [word]
    return told


def _value(found: re.Match[str]) -> Fraction | None:
    """None where it is too long to be read as a number, or divided by nothing."""
    if len(found[0]) > DIGITS:
        return None
    try:
        if found["whole"]:
            value = int(found["whole"]) + Fraction(int(found["top"]), int(found["down"]))
        else:
            value = Fraction(found["number"].replace(",", "")) / Fraction(found["under"] or 1)
            power = int((found["power"] or "0").strip("()"))
            if abs(power) > DIGITS:
                return None
            value *= Fraction(10) ** power
    except (ValueError, ZeroDivisionError):
        return None
    return -value if found["sign"] == "-" else value


def _written(value: Fraction) -> str:
    """As a decimal where it ends, else as a fraction in lowest terms."""
    under, places = value.denominator, 0
    while under % 10 == 0 or under % 2 == 0 or under % 5 == 0:
        under //= 10 if under % 10 == 0 else 2 if under % 2 == 0 else 5
        places += 1
    if under != 1:
        return f"{value.numerator}/{value.denominator}"
    scaled = value * 10**places
    digits = f"{abs(scaled.numerator):0{places + 1}}"
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' if part else ''}{part}"
