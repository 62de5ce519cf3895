"""A reader of messages that has nothing but resolved specs, as a program in another language would: their JSON.

It imports nothing of kipwire, so that it cannot get right what the document does not say. A message becomes
its JSON form.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import google_crc32c

Json = dict[str, Any]


class Wrong(Exception):
    """Bytes that are not the message."""


def need(condition: object, what: str) -> None:
    """Check that bytes are right."""
    if not condition:
        raise Wrong(what)


def forms_of(document: Json) -> dict[tuple[str, int], Json]:
    """Return the form of every message in every version."""
    return {(m["name"], v): form for m in document["messages"] for form in m["forms"] for v in form["versions"]}


@dataclass
class Reader:
    """One message, while it is read."""

    form: Json
    data: bytes
    pos: int = 0
    unknown: list[Json] = field(default_factory=list)
    """The unknown tagged fields, as the golden lines have them."""

    def message(self) -> Json:
        """Read the message, which must take all bytes; return its JSON form."""
        value, _ = self.struct(self.form["structs"][-1]["name"], len(self.data), "")
        need(self.pos == len(self.data), "bytes are left over")
        return value

    def take(self, count: int, end: int) -> bytes:
        need(0 <= count <= end - self.pos, "bytes are missing")
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def varint(self, bits: int, end: int) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1, end)
            value |= (byte & 127) << shift
            need(not value >> bits, "a varint is too long")
            if byte < 128:
                break
            shift += 7
            need(shift < bits, "a varint is too long")
        need(byte or not shift, "a varint has redundant bytes")
        return value

    def number(self, form: str, bits: int, end: int) -> int:
        """Read a number that is a length."""
        if form in ("int8", "int16", "int32"):
            return int.from_bytes(self.take(int(form[3:]) // 8, end), "big", signed=True)
        value = self.varint(bits, end)
        return value >> 1 ^ -(value & 1) if form == "zigzag_varint" else value

    def struct(self, name: str, end: int, path: str) -> tuple[Json, int]:
        """Read a struct; return its values, and the limit of its bytes."""
        (told,) = [one for one in self.form["structs"] if one["name"] == name]
        values: Json = {}
        starts: dict[str, int] = {}
        seen: Json = {}
        for item in told["items"]:
            starts[item["name"]] = self.pos
            read = self.item(item, seen, values, end, path)
            if item["role"] == "size":
                need(0 <= read <= end - self.pos, "a size is wrong")
                end = self.pos + read
            seen[item["name"]] = read
        if section := told.get("tagSection"):
            self.tag_section(section, values, end, path)
        if any(item["role"] == "size" for item in told["items"]):
            need(self.pos == end, "a size is not that of what follows")
        for item in told["items"]:
            if item["role"] == "checksum":
                to = starts[item["name"]] if item["to"] == "here" else self.pos
                covered = self.data[starts[item["from"]] : to]
                due = zlib.crc32(covered) if item["algorithm"] == "crc32" else google_crc32c.value(covered)
                need(seen[item["name"]] & 0xFFFFFFFF == due, "a checksum is wrong")
        return values, end

    def tag_section(self, section: Json, values: Json, end: int, path: str) -> None:
        fields = {item["tag"]: item for item in section["fields"]}
        before = -1
        for _ in range(self.varint(31, end)):
            tag, size = self.varint(31, end), self.varint(31, end)
            need(tag > before and tag not in section["refusedTags"], "a tag is wrong")
            before, start = tag, self.pos
            if tag in fields:
                self.item(fields[tag], {}, values, end, path)
            else:
                self.unknown.append({"path": path, "tag": tag, "hex": self.take(size, end).hex()})
            need(self.pos == start + size, "the size of a tagged field is wrong")

    def item(self, item: Json, seen: Json, values: Json, end: int, path: str) -> Any:
        """Read an item; put the values of fields into `values`, and return the value that later items need."""
        told = item["value"]
        value: Any
        key = item["name"][0].lower() + item["name"][1:]
        if item["role"] == "bits":
            number = self.single(told, end)
            need(not number & item["zeroMask"], "bits without a name are set")
            for bit in item["bits"]:
                seen[bit["name"]] = value = number >> bit["lowest"] & (1 << bit["width"]) - 1
                if bit["role"] == "value":
                    values[bit["name"][0].lower() + bit["name"][1:]] = bool(value) if bit["type"] == "bool" else value
            return number
        if item["role"] != "value":
            number = self.single(told, end)
            need(item["role"] != "constant" or number == item["constant"], "a constant is wrong")
            return number
        if "presentIf" in item and seen[item["presentIf"]["bit"]] != item["presentIf"]["is"]:
            empty: Any = [] if told["type"] == "array" else ""
            value = None if item["absentMeans"] == "null" else empty
        else:
            value = self.value(told, seen, end, f"{path}/{key}")
        values[key] = value
        need(value is not None or not seen.get(item.get("requiredIf", "")), "null is not allowed")
        if "sameLengthAs" in item:
            need(len(value or ()) == len(seen[item["sameLengthAs"]]), "an array is too long or too short")
        return value

    def value(self, told: Json, seen: Json, end: int, path: str) -> Any:
        kind = told["type"]
        if kind == "struct":
            if marker := told.get("marker"):
                number = self.number(marker["form"], 31, end)
                need(number in (marker["present"], marker["null"]), "a marker is wrong")
                if number == marker["null"]:
                    return None
            return self.struct(told["struct"], end, path)[0]
        if kind not in ("string", "bytes", "records", "array"):
            return self.single(told, end)
        prefix = told.get("prefix")
        if prefix and "presentIf" in prefix and seen[prefix["presentIf"]["bit"]] != prefix["presentIf"]["is"]:
            prefix = None
        if prefix is None:
            count = end - told["rest"]["after"] - self.pos
            need(count >= 0, "bytes are missing")
        else:
            number = self.number(prefix["form"], prefix.get("bits", 0), end)
            if number == prefix.get("null"):
                return None
            count = number - prefix["plus"]
            need(0 <= count <= prefix.get("most", count), "a length is wrong")
        if kind != "array":
            data = self.take(count, end)
            return data.decode() if kind == "string" else base64.b64encode(data).decode()
        if prefix and prefix["counts"] == "elements":
            need(count <= end - self.pos or "struct" in told["element"], "a count is too large")
            return [self.value(told["element"], seen, end, f"{path}/{at}") for at in range(count)]
        need(count <= end - self.pos, "bytes are missing")
        last, found = self.pos + count, list[Any]()
        while self.pos < last:
            found.append(self.value(told["element"], seen, last, f"{path}/{len(found)}"))
        return found

    def single(self, told: Json, end: int) -> Any:
        """Read a bool, a number or a uuid."""
        if told["form"] != "fixed":
            number = self.varint(told["bits"], end)
            if told["form"] == "zigzag_varint":
                return number >> 1 ^ -(number & 1)
            return number - (1 << told["bits"]) if number >> told["bits"] - 1 else number
        data = self.take(told["width"], end)
        match told["type"]:
            case "bool":
                need(data[0] < 2, "a bool is wrong")
                return bool(data[0])
            case "float64":
                (value,) = struct.unpack(">d", data)
                special = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
                return value if math.isfinite(value) else special
            case "uuid":
                return base64.urlsafe_b64encode(data).decode().rstrip("=")
            case _:
                return int.from_bytes(data, "big", signed=told["signed"])
