"""The bytes of a text: hex, base64, dumps, and literals as programs of many languages print them.

`bytes_of` tries each form as a whole, and never takes the characters of a text for bytes. Rules decide where two forms
look alike, and what no rule decides is refused:

* Numbers in brackets are decimal. A letter or a leading zero shows that all of them are hex; so does 0x, of its number.
* Digits without brackets are hex, two for each byte. A number of one digit or three shows that all are decimal.
* A text that was cut when it was shown, such as the Buffer of a log of Node.js, is refused.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode

from kipwire.console.inspect.dumps import Taken, read_dump
from kipwire.tools.text import cut

FORMS = (
    "hex, base64, dumps of xxd, hexdump, od, tcpdump, Wireshark and Netty, and bytes as Python, Rust, Go, Java, C, "
    "Node.js and Erlang write them"
)
"""The forms that are read, for errors."""
_SHOWN = 40

_QUOTED = r""""(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'"""
# A string or comment without its end goes on to the end of the line or text, so that no text is looked at many times.
_COMMENT = re.compile(
    r"""("(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)|//[^\n]*|/\*.*?(?:\*/|\Z)|(?<!\S)#[^\n]*""", re.DOTALL
)
_DECLARATION = re.compile(r"[A-Za-z_][\w\s*&:<>\[\];]*+=\s*")
_XXD_LENGTH = re.compile(r";\s*unsigned int \w+_len = (\d+);?\s*$")
_MAKER = re.compile(
    r"array(?:\.array)?\(\s*'[bB]'\s*,|(?:new\s+)?U?[Ii]nt8Array(?:\(\d+\)|\.from|\.of)?|(?:new\s+)?s?byte\s*\[\s*\d*\s*\]"
    r"|\[(?:\d*|\.\.\.)\](?:byte|u?int8|u8)|bytes|bytearray|memoryview|Bytes::\w+|Buffer\.from|u?[bB]yteArrayOf"
    r"|Array(?:\[Byte\])?|List|vec!|&"
)
_BRACKETS = (("<<", ">>"), ("[", "]"), ("{", "}"), ("(", ")"))
_DEEPEST = 4
_CASTS = re.compile(r"\(\s*(?:s?byte|Byte|u?int8(?:_t)?|(?:un)?signed char|char)\s*\)|\.toByte\(\)|\s+as\s+[ui]8\b")
_NUMBER = re.compile(r"(-?)(0x)?([0-9a-f]{1,3})(?:_?[ui]8)?", re.IGNORECASE)
_STRING = re.compile(rf"\s*+(?:\+\s*+)?(b?)({_QUOTED})")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u00([0-7][0-9a-fA-F])|(.))|([^\\])", re.DOTALL)
_ESCAPED = dict(zip("ntrabfve0\\\"'/", b"\n\t\r\a\b\f\v\x1b\0\\\"'/", strict=True))
_BUFFER = re.compile(r"<(?:Slow)?Buffer((?:\s+[0-9a-f]{2})*)(\s+\.\.\. \d+ more bytes?)?>", re.IGNORECASE)
_BUFFER_JSON = re.compile(
    r"""\{\s*["']?type["']?\s*:\s*["']Buffer["']\s*,\s*["']?data["']?\s*:\s*(\[[^\[\]{}]*\])\s*,?\s*\}"""
)
# Hex text has blanks around and between bytes, and 0a:0b, 0a,0b, 0x0a, \x0a. A colon with a blank ends an offset.
_HEX = re.compile(r"(?:(?:0x|\\x)?(?:[0-9a-f]{2})++(?:\s*+,\s*+|\s++|:(?:\s*+\n\s*+)?|(?=0x|\\x)|$))*+", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:[\s:,]|0x|\\x)+", re.IGNORECASE)
_TWO_DECIMALS = re.compile(r"[1-9][0-9](?:\s*,\s*[1-9][0-9])+,?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")


def bytes_of(text: str) -> Taken | None:
    """Read the bytes that a text shows; None if it is of no form that shows bytes.

    Raises:
        ValueError: the text has such a form, but not all of its bytes, or it can be read in two ways.
    """
    for read in (read_dump, _strings, _buffer, _array, _hex, _numbers, read_base64):
        taken = read(text)
        if taken is not None:
            return taken
    return None


# Strings with escapes.


def _strings(text: str) -> Taken | None:
    r"""Read strings such as `b'\x00\x03'`, one or several after each other; those without a `b` need an escape."""
    if '"' not in text and "'" not in text:
        return None
    inside = _without_declaration(_without_comments(text)).strip().rstrip(";,")
    for _ in range(_DEEPEST):
        maker = _MAKER.match(inside)
        inside = inside[maker.end() :] if maker is not None else inside
        inside = inside.strip()
        if inside.startswith("(") and inside.endswith(")"):
            inside = inside[1:-1]
    inside = inside.rstrip()
    found: list[re.Match[str]] = []
    while one := _STRING.match(inside, found[-1].end() if found else 0):
        found.append(one)
    if not found or found[-1].end() != len(inside):
        return None
    if not found[0][1] and "\\" not in inside:
        return None
    parts = [_unescaped(it[2][1:-1], is_bytes=bool(it[1]), quote=it[2][0]) for it in found]
    return None if None in parts else Taken(b"".join(filter(None, parts)), "a string with escapes")


def _unescaped(text: str, *, is_bytes: bool, quote: str) -> bytes | None:
    """Replace the escapes of a string; None if one is not known.

    Raises:
        ValueError: languages disagree about an escape, or about the bytes of a character.
    """
    data = bytearray()
    for it in _ESCAPE.finditer(text):
        digits, octal, character, letter, plain = it.groups()
        if plain is not None:
            if not plain.isascii():
                raise ValueError(f"has the character {plain}, whose bytes depend on its encoding; write it as \\x..")
            data.append(ord(plain))
        elif digits is not None:
            _need_two_digits(text, it.start() + 2, is_bytes)
            data.append(int(digits, 16))
        elif octal is not None:
            if octal[0] == "0" and quote == '"' and (len(octal) == 2 or (is_bytes and len(octal) == 3)):
                raise ValueError(
                    f"has \\{octal}, which is one byte in C and Python, and \\0 with a digit after it in Rust; "
                    "write \\x and two digits"
                )
            if int(octal, 8) > 0xFF:
                return None
            data.append(int(octal, 8))
        elif character is not None:
            data.append(int(character, 16))
        elif letter in _ESCAPED:
            data.append(_ESCAPED[letter])
        elif letter in "uUN":
            raise ValueError(f"has a character as \\{letter}, whose bytes depend on its encoding; write it as \\x..")
        else:
            return None
    return bytes(data)


def _need_two_digits(text: str, start: int, is_bytes: bool) -> None:
    r"""Refuse `\x00a`, which is one byte in C; where that is above 255, it is no C."""
    found = re.compile("[0-9a-fA-F]+").match(text, start)
    digits = "" if found is None else found[0]
    if not is_bytes and len(digits) > 2 and int(digits[:_SHOWN], 16) <= 0xFF:
        raise ValueError(f"has \\x{digits}, which is one byte in C, and more elsewhere; write each byte as \\x..")


# Arrays of numbers.


def _buffer(text: str) -> Taken | None:
    """Read a Buffer of Node.js: as its log shows it, or as JSON."""
    match = _BUFFER.fullmatch(text.strip())
    if match is not None:
        if match[2]:
            raise ValueError(f"ends with '{match[2].strip()}': they were cut off; give all, by buffer.toString('hex')")
        return Taken(bytes.fromhex(match[1]), "a Buffer of Node.js")
    match = _BUFFER_JSON.fullmatch(text.strip())
    taken = None if match is None else _array(match[1])
    return None if taken is None else Taken(taken.data, "a Buffer of Node.js")


def _array(text: str) -> Taken | None:
    """Read numbers in brackets, with what languages write around them."""
    text = _without_comments(text).strip()
    length = _XXD_LENGTH.search(text)
    inside = _without_declaration(text[: length.start()] if length else text).strip().rstrip(";,")
    bracket = ""
    for _ in range(_DEEPEST):
        maker = _MAKER.match(inside)
        inside = inside[maker.end() :].strip() if maker is not None else inside
        if maker is not None and inside.endswith(")") and maker[0].startswith("array"):
            inside = inside[:-1].strip()
        pair = next((it for it in _BRACKETS if inside.startswith(it[0]) and inside.endswith(it[1])), None)
        if pair is None:
            break
        bracket = pair[0]
        inside = inside[len(pair[0]) : -len(pair[1])].strip()
    taken = _elements(inside, bracket) if bracket and (inside or bracket == "[") else None
    if taken is not None and length is not None and int(length[1]) != len(taken.data):
        raise ValueError(f"has {len(taken.data)} bytes, but says {length[1]}; give the whole array")
    return taken


def _numbers(text: str) -> Taken | None:
    """Read numbers without brackets: all with 0x, or all decimal, of which one has one digit or three."""
    return _elements(_without_comments(text).strip(), "")


def _elements(inside: str, bracket: str) -> Taken | None:
    """Read the numbers, characters and strings in an array.

    Raises:
        ValueError: the end is missing, or the numbers can be read in two ways.
    """
    inside = _CASTS.sub("", inside).strip().removesuffix(",")
    words = [it.strip() for it in inside.split(",")] if "," in inside else inside.split()
    if bracket and (left_out := next((it for it in words if it.startswith(("...", "\u2026"))), None)) is not None:
        raise ValueError(f"has '{cut(left_out, _SHOWN)}': bytes were left out when it was shown; give all")
    numbers = [_NUMBER.fullmatch(word) for word in words]
    bare = [it[3] for it in numbers if it is not None and not it[2]]
    base = _base_of(bare, len(bare) == len(words), bracket)
    if base is None or (not bracket and not _is_evident(words)):
        return None
    data: list[int] = []
    for word, number in zip(words, numbers, strict=True):
        value = _text_element(word, bracket) if number is None else _value(number, base)
        if value is None:
            return None
        data += value
    if any(it < 0 for it in data) and any(it > 0x7F for it in data):
        return None  # bytes have a sign, or they have none
    if any(not -0x80 <= it <= 0xFF for it in data):
        return None
    what = "a binary of Erlang" if bracket == "<<" else "an array"
    kind = "hex" if base == 16 or (words and not bare) else "decimal"
    return Taken(bytes(it & 0xFF for it in data), f"{what}, of {kind} numbers" if numbers else what)


def _base_of(bare: list[str], are_all: bool, bracket: str) -> int | None:
    """Return the base of numbers without 0x; None if they are none.

    Raises:
        ValueError: they can be read in two ways.
    """
    has_letters = any(not it.isdecimal() for it in bare)
    has_zeros = any(len(it) > 1 and it[0] == "0" for it in bare)
    if not has_letters and not has_zeros:
        return 10
    if not are_all or bracket != "[" or any(len(it) > 2 for it in bare):
        return None
    if not has_letters and any(len(it) != 2 for it in bare):
        raise ValueError("has numbers with leading zeros beside others without; write all as 0x and two digits")
    return 16


def _is_evident(words: list[str]) -> bool:
    """True if words without brackets are numbers of bytes: several with 0x, or decimal as their lengths show."""
    if len(words) < 2:
        return False
    if any(word[:2].lower() == "0x" for word in words):
        return all(word[:2].lower() == "0x" for word in words)
    return any(len(word) != 2 for word in words)


def _value(number: re.Match[str], base: int) -> list[int] | None:
    sign, prefix, digits = number.groups()
    if prefix and len(digits) > 2:
        return None
    if sign and (prefix or base == 16):
        return None
    return [int(sign + digits, 16 if prefix else base)]


def _text_element(word: str, bracket: str) -> list[int] | None:
    """Read a character such as `b'k'` in an array, or a string in a binary of Erlang."""
    match = _STRING.fullmatch(word)
    if match is None or not bracket or (bracket == "<<") != (match[2][0] == '"'):
        return None
    data = _unescaped(match[2][1:-1], is_bytes=bool(match[1]), quote=match[2][0])
    return None if data is None or (bracket != "<<" and len(data) != 1) else list(data)


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda it: it[1] or " ", text) if "#" in text or "/" in text else text


def _without_declaration(text: str) -> str:
    match = _DECLARATION.match(text.lstrip())
    return text.lstrip()[match.end() :] if match is not None else text


# Digits alone.


def _hex(text: str) -> Taken | None:
    data = parse_hex(text)
    return None if data is None else Taken(data, "")


def parse_hex(text: str) -> bytes | None:
    """Parse a hex text, which may have comments and quotes; None if it is not hex text.

    Raises:
        ValueError: it may as well be decimal.
    """
    all_of_it, text = text, _unquoted(_without_comments(text).strip())
    if not text.isascii() or (not text and all_of_it.strip()):
        return None
    lines = text.split()
    is_wrapped = len({len(line) for line in lines[:-1]}) == 1 and len(lines[-1]) <= len(lines[0])
    if (
        is_wrapped
        and "\n" in text
        and len(lines[0]) % 2
        and all(re.fullmatch("[0-9a-fA-F]{16,}", it) for it in lines[:-1])
    ):
        text = "".join(lines)
    if not _HEX.fullmatch(text):
        return None
    if _TWO_DECIMALS.fullmatch(text):
        raise ValueError("has numbers that may be hex or decimal; put decimal ones in brackets, and 0x before hex")
    return bytes.fromhex(_BETWEEN.sub("", text))


def read_base64(text: str) -> Taken | None:
    """Decode base64 in one or more lines of one length; None if the text is something else, such as a word.

    Words look like base64, too. Its padding shows the difference, and AA, which two zero bytes have in it.
    """
    lines = [line.strip() for line in _unquoted(text.strip()).splitlines()]
    joined = "".join(lines)
    if not _BASE64.fullmatch(joined) or len(joined) % 4 or len({len(line) for line in lines[:-1]}) > 1:
        return None
    joined = joined.translate(str.maketrans("-_", "+/"))
    try:
        data = b64decode(joined, validate=True)
    except binascii.Error:
        return None
    is_evident = joined.endswith("=") or "AA" in joined
    return Taken(data, "base64") if is_evident and b64encode(data).decode() == joined else None


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" and text[0] not in text[1:-1]:
        return text[1:-1].strip()
    return text
