"""The form in which results are saved: JSON with one line per row and with floats rounded to five significant digits."""

import json

DIGITS = 5  # significant digits; the tables show at most three, which rounding to five digits first must not change


def as_text(document: dict) -> str:
    return formatted(rounded(document)) + "\n"


def rounded(value):
    """The value with all floats in it rounded, and without the empty entries of its dicts."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items() if each is not None and each != {}}
    return [rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def formatted(value) -> str:
    """JSON with a line per row. A dict that has rows somewhere in it has a line per key; any other value is one line."""
    if is_rows(value):
        return "[\n" + ",\n".join(map(line, value)) + "\n]"
    if has_rows(value):
        return "{\n" + ",\n".join(f"{line(key)}:{formatted(each)}" for key, each in value.items()) + "\n}"
    return line(value)


def is_rows(value) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def has_rows(value) -> bool:
    return isinstance(value, dict) and any(is_rows(each) or has_rows(each) for each in value.values())


def line(value) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
