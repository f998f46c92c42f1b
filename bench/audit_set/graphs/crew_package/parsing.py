import json
import re


def read_json(text: str) -> dict:
    found = re.search(r"\{.*\}", text, re.S)
    return json.loads(found.group(0)) if found else {}
