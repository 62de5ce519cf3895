"""Writes a dissector for Wireshark: one Lua file for all APIs and versions of a protocol.

    python examples/wireshark/dissector.py kafka.json --records records.json --out kipwire_kafka.lua

It reads nothing but resolved specs, as `kipgen resolve` writes them: docs/resolved.md. Each struct of each form becomes
a function of straight-line Lua, which adds what it reads at a position to a tree; structs that are the same share one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import click
import jinja2

Json = dict[str, Any]
READERS = {("int8", 0): "n8", ("int16", 0): "n16", ("int32", 0): "n32", ("zigzag_varint", 0): "nzig",
           ("unsigned_varint", 0): "nuv", ("unsigned_varint", 1): "nuv1"}  # fmt: skip
KINDS = {"float64": "double", "uuid": "guid", "records": "bytes", "array": "uint32", "struct": "none"}
TEXTS = {"string": "text", "bytes": "blob", "records": "records"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[^A-Z])(?=[A-Z])", "_", name).lower()


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


class Numbered(dict[str, int]):
    """Pieces of Lua, each once, with its number from 1."""

    def of(self, lua: str) -> int:
        return self.setdefault(lua, len(self) + 1)


class Dissector:
    """The pieces of one dissector."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields, self.functions, self.sections = Numbered(), Numbered(), Numbered()
        self.kinds: dict[str, str] = {}
        self.enums: dict[str | None, str] = {}

    def field(self, path: str, kind: str, about: str = "", enum: str | None = None) -> str:
        """Return an expression for the field of a path."""
        label = path.rpartition(".")[2]
        if self.kinds.setdefault(path, kind) != kind:  # in another version
            path = f"{path}-{kind}"
        is_number = re.fullmatch(r"u?int\d+", kind)
        base = f"base.DEC, {enum if enum and '64' not in kind else 'nil'}, nil, " if is_number else ""
        base = {"string": "base.UNICODE, ", "bytes": "base.SPACE, ", "bool": "base.NONE, nil, nil, "}.get(kind, base)
        made = f"ProtoField.{kind}({quoted(f'{self.name}.{path}')}, {quoted(label)}, {base}{quoted(about)})"
        return f"F[{self.fields.of(made)}]"

    def form(self, message: str, form: Json, shared: set[str]) -> int:
        """Write the function that reads a form of a message, and return its number."""
        structs = {struct["name"]: struct for struct in form["structs"]}
        paths, done = {form["structs"][-1]["name"]: snake(message)}, dict[str, int]()
        for struct in reversed(form["structs"]):  # those that use others come last
            for item in (*struct["items"], *struct.get("tagSection", {"fields": ()})["fields"]):
                inner = item["value"].get("element", item["value"]).get("struct")
                if inner:
                    own = f"{paths.get(struct['name'], snake(message))}.{item['attribute']}"
                    paths[inner] = f"{snake(message)}.{snake(inner)}" if inner in shared else own
        for struct in form["structs"]:
            done[struct["name"]] = self.struct(struct, paths.get(struct["name"], snake(message)), structs, done)
        return done[form["structs"][-1]["name"]]

    def struct(self, struct: Json, path: str, structs: Json, done: dict[str, int]) -> int:
        is_sized = any(item["role"] == "size" for item in struct["items"])
        lines = ["local outer = E"] if is_sized else []
        if any(is_records_of_batch(item, struct) for item in struct["items"]):
            lines.append("local start = p")
        for item in struct["items"]:
            lines += self.item(item, path, structs, done, struct)
        if "tagSection" in struct:
            section = struct["tagSection"]
            known = [f"[{tag}]=false" for tag in section["refusedTags"]]
            for item in section["fields"]:
                code = " ".join(self.item(item, path, structs, done, struct))
                known.append(f"[{item['tag']}]=function(t,p) {code} return p end")
            number = self.sections.of("{" + ", ".join(known) + "}")
            lines.append(f"if p<E and byte(B,p+1)==0 then p=p+1 else p=tags(t,p,G[{number}]) end")
        if is_sized:
            lines.append('if p~=E then fault(p, "the size is not that of what follows") end E=outer')
        return self.functions.of("function(t,p)\n  " + "\n  ".join([*lines, "return p"]) + "\nend")

    def item(self, item: Json, path: str, structs: Json, done: dict[str, int], struct: Json) -> list[str]:
        """Return the statements that read an item."""
        value, own = item["value"], f"{path}.{item['attribute']}"
        if item["role"] == "value":
            if is_records_of_batch(item, struct):
                return [f"p=records_of(t,{self.field(own, 'bytes', item.get('about', ''))},p,E,start)"]
            code = self.value(item, value, own, structs, done)
            if "presentIf" in item:
                code = f"if {condition(item['presentIf'])} then {code} end"
            return [code]
        signed = str(value.get("signed", False)).lower()
        kind = value["type"] if value.get("signed", True) else f"uint{8 * value['width']}"
        f = self.field(own, kind, item.get("about", ""))
        if value["form"] != "fixed":
            read = f"{'zig' if value['form'] == 'zigzag_varint' else 'two'}(p,{value['bits']})"
        else:
            read = f"fixed(p,{value['width']},{signed})"
        if value["form"] == "fixed":
            lines = [f"local n,q={read} add(t,{f},range(T,p,q-p))"]
        else:
            shown = "Int64.new(n)" if value["type"] == "int64" and value["bits"] < 64 else "n"
            lines = [f"local n,q={read} add(t,{f},range(T,p,q-p),{shown})"]
        if value.get("bits") == 64:
            lines.append("n=n:tonumber()")
        if item["role"] == "constant":
            lines.append(f'if n~={item["constant"]} then fault(p, "{item["attribute"]} is "..n) end')
        if item["role"] == "size":
            lines.append("if n<0 or q+n>E then short(q,n) end E=q+n")
        names = []
        for bit in item.get("bits", ()):
            names.append(f"b_{bit['attribute']}")
            low, width = bit["lowest"], bit["width"]
            kind = "bool" if bit["type"] == "bool" else "uint64" if width > 32 else "uint32"
            f = self.field(f"{path}.{bit['attribute']}", kind, bit.get("about", ""))
            number = f"floor(n/{1 << low})%{1 << width}"
            if value["width"] == 8:  # in two halves, since a number of Lua has 53 bits
                low_half, high_half = f"floor(fixed(p+4,4)/{1 << low})", f"fixed(p,4)%{1 << max(low + width - 32, 0)}"
                number = f"floor({high_half}/{1 << max(low - 32, 0)})"
                number = number if low >= 32 else f"({low_half}+{high_half}*{1 << 32 - low})%{1 << width}"
            lines.append(f"{names[-1]}={number}")
            number = names[-1]
            shown = f"UInt64.new({number}%4294967296,floor({number}/4294967296))" if kind == "uint64" else number
            shown = f"{number}==1" if kind == "bool" else shown
            lines.append(f"add(t,{f},range(T,p,q-p),{shown})")
        return [*([f"local {','.join(names)}"] if names else []), f"do {' '.join(lines)} p=q end"]

    def value(self, item: Json, value: Json, own: str, structs: Json, done: dict[str, int]) -> str:
        """Return the statement that reads a value at p into t."""
        kind, about = value["type"], item.get("about", "")
        name = quoted(item["attribute"]) if item.get("nullable") else "nil"
        read = READERS[value["prefix"]["form"], value["prefix"]["plus"]] if "prefix" in value else ""
        if kind == "struct":
            f = self.field(own, "none", about)
            if marker := value.get("marker"):
                none = marker["null"]
                return f"p=maybe(t,{f},p,S[{done[value['struct']]}],{READERS[marker['form'], 0]},{none},{name})"
            return f"p=node(t,{f},p,S[{done[value['struct']]}])"
        if kind == "array":
            return self.array(item, value, own, read, name, structs, done)
        f = self.field(own, KINDS.get(kind, str(kind)), about, self.enums.get(item.get("enum")))
        if kind in TEXTS:
            rest = f"p=rest_{'text' if kind == 'string' else 'blob'}(t,{f},p,E-{value.get('rest', {}).get('after')})"
            if not read:
                return rest
            code = f"p={TEXTS[kind]}(t,{f},p,{read},{name},{value['prefix'].get('most', 'nil')})"
            only_if = value["prefix"].get("presentIf")
            return f"if {condition(only_if)} then {code} else {rest} end" if only_if else code
        if value["form"] == "fixed":
            width = value["width"]
            return f"if p+{width}>E then short(p,{width}) end add(t,{f},range(T,p,{width})) p=p+{width}"
        way = "zig" if value["form"] == "zigzag_varint" else "two"
        whole = str(kind == "int64" and value["bits"] < 64).lower()
        return f"p=int(t,{f},p,{way},{value['bits']},{whole})"

    def array(
        self, item: Json, value: Json, own: str, read: str, name: str, structs: Json, done: dict[str, int]
    ) -> str:
        element = value["element"]
        count = self.field(f"{own}-count", "uint32", item.get("about", ""))
        if element["type"] == "struct":
            f, one = self.field(own, "uint32", item.get("about", "")), f"S[{done[element['struct']]}]"
            struct = structs[element["struct"]]
            items = 1 + len(struct["items"]) + len(struct.get("tagSection", {"fields": ()})["fields"])
            if not read:
                return f"p=span(t,{f},p,E-{value['rest']['after']},{one},{items})"
            if value["prefix"]["counts"] == "bytes":
                return f"p=sized(t,{count},{f},p,{one},{read},{name},{items})"
            empty = str(struct.get("mayTakeNoBytes", False)).lower()
            return f"p=list(t,{count},{f},p,{one},{read},{name},{items},{empty})"
        if element.get("form") == "fixed":
            f = self.field(own, str(KINDS.get(element["type"], element["type"])), enum=self.enums.get(item.get("enum")))
            return f"p=numbers(t,{count},{f},p,{element['width']},{read},{name})"
        each = self.functions.of(f"function(t,p) {self.value({}, element, own, structs, done)} return p end")
        return f"p=list(t,{count},nil,p,S[{each}],{read},{name},1)"


def condition(told: Json) -> str:
    return f"b_{snake(told['bit'])}=={told['is']}"


def is_records_of_batch(item: Json, struct: Json) -> bool:
    """Return True if an item is the records at the end of a batch, which may be compressed."""
    return bool(struct["name"] == "RecordBatch" and item["name"] == "Records")


def shared_structs(message: Json) -> set[str]:
    """Return the structs that several fields of one form use."""
    found = set[str]()
    for form in message["forms"]:
        items = [i for s in form["structs"] for i in (*s["items"], *s.get("tagSection", {"fields": ()})["fields"])]
        used = Counter(item["value"].get("element", item["value"]).get("struct") for item in items)
        found |= {name for name, count in used.items() if name and count > 1}
    return found


def dissector(document: Json, records: Json | None, name: str, label: str, ports: str) -> str:
    """Return the text of the Lua file."""
    made, tables = Dissector(name), []
    enums = []
    for number, enum in enumerate(document["enums"], 1):
        made.enums[enum["name"]] = f"V[{number}]"
        enums.append("{" + ", ".join(f"[{one['value']}]={quoted(one['name'])}" for one in enum["values"]) + "}")
    roots = {}
    for message in [*document["messages"], *document["headers"].values(), *(records or {"messages": ()})["messages"]]:
        if message["name"] not in roots:
            forms = [(made.form(message["name"], form, shared_structs(message)), form) for form in message["forms"]]
            roots[message["name"]] = {v: (number, form) for number, form in forms for v in form["versions"]}
    for letter, type_ in (("q", "request"), ("a", "response")):
        header = document["headers"].get(type_, {"name": ""})["name"]
        pairs = ", ".join(f"[{version}]={number}" for version, (number, _) in roots.get(header, {}).items())
        tables.append(f"HEADERS.{letter} = {{{pairs}}}")
    for root, versions in roots.items():
        tables.append(f"M.{root} = {{" + ", ".join(f"[{v}]={number}" for v, (number, _) in versions.items()) + "}")
    keys = Counter(m["apiKey"] for m in document["messages"] if m["type"] == "request")
    for message in document["messages"]:
        if message["type"] in ("request", "response") and message["versions"]:
            if keys[message["apiKey"]] > 1 and not message["servedVersions"]:
                continue  # a former name of an API
            letter, api = (
                message["type"][0].replace("r", "q" if message["type"] == "request" else "a"),
                message["apiKey"],
            )
            by_version = roots[message["name"]].items()
            structs = ", ".join(f"[{version}]={number}" for version, (number, _) in by_version)
            headers = ", ".join(f"[{version}]={form['headerVersion']}" for version, (_, form) in by_version)
            own = message["name"].removesuffix("Request").removesuffix("Response")
            tables.append(f"API[{api}] = API[{api}] or {{name={quoted(own)}}}")
            tables.append(f"API[{api}].{letter}, API[{api}].h{letter} = {{{structs}}}, {{{headers}}}")
            if refusal := message.get("refusal"):
                version, code = refusal["version"], refusal["errorCode"]
                tables.append(f"API[{api}].refusal = {{version={version}, code={code}}}")
    of_records = records and {
        "records": roots["Records"][2][0],
        **{f"v{v}": roots["RecordBatch" if v == 2 else "MessageAndOffset"][v][0] for v in range(3)},
    }
    here = Path(__file__).parent
    loader = jinja2.FileSystemLoader(here)
    environment = jinja2.Environment(loader=loader, trim_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["lua"] = quoted
    reading, frames = ((here / file).read_text("utf-8") for file in ("reading.lua", "frames.lua"))
    pieces = {"enums": enums, "fields": made.fields, "sections": made.sections, "functions": made.functions}
    texts = {"name": name, "title": f"{label} ({document['package']})", "label": label, "ports": ports}
    count = sum(map(len, roots.values()))
    return environment.get_template("dissector.lua.j2").render(
        **pieces, **texts, tables=tables, records=of_records, reading=reading, frames=frames, versions=count
    )


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.argument("resolved", type=click.Path(path_type=Path))
@click.option(
    "--records", type=click.Path(path_type=Path), help="Resolved specs of kafka_records, if there are records."
)
@click.option("--name", default="", help="The protocol's name in display filters; the package's, if not given.")
@click.option("--label", default="", help="What the column of protocols shows; the name, if not given.")
@click.option(
    "--ports", default="9092-9094", show_default=True, help="The ports of the brokers, as Wireshark has them."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
def main(resolved: Path, records: Path | None, name: str, label: str, ports: str, out: Path) -> None:
    documents = [json.loads(file.read_text("utf-8")) for file in (resolved, records) if file]
    if any(one.get("format") != 1 for one in documents):
        raise click.ClickException("give files of kipgen resolve, of format 1")
    own = documents[0]["package"].replace(".", "_")
    name = name or (own if len(own) > 1 else f"{own}_protocol")
    if len(name) < 2 or not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", name):
        due = "two or more letters of ASCII, digits, - or _; give such a --name"
        raise click.ClickException(f"{name!r} cannot name a protocol in Wireshark, which takes {due}")
    out.parent.mkdir(parents=True, exist_ok=True)
    text = dissector(documents[0], documents[1] if records else None, name, label or name, ports)
    out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
