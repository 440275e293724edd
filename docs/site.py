#!/usr/bin/env python3
"""Builds the documentation as a site: docs/site.py BAKEOFF MDBOOK FOLDER

Pages are those of the repository, at the paths that they have there, so that links between them work in
both. docs/README.md lists them, in the order of the site. The reference is written from what it is about: the
help of the program BAKEOFF, the schemas, and the types of the record.
After MDBOOK has built the site in FOLDER, every link in it that leads to a page or a heading is followed. A
link that leads nowhere is an error, and so is a page in docs/ that docs/README.md does not list.
"""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
MAP = "docs/README.md"
BOOK = """[book]
title = "bakeoff"
language = "en"
[build]
build-dir = "site"
create-missing = false
[output.html]
default-theme = "light"
no-section-label = true
[output.html.fold]
enable = true
"""


def cell(text):
    """A text as one cell of a table, or as text in which nothing is HTML."""
    text = " ".join((text or "").split()).replace("|", "\\|")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else part.replace("<", "&lt;").replace("[", "\\[")
        for part in parts
    )


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


# Commands, from the program's own help.


def command_help(program, words):
    result = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return result.stdout


def subcommands(text):
    part = text.split("\nCommands:\n", 1)
    if len(part) == 1:
        return []
    names = re.findall(r"^  ([a-z]\S*)", part[1].split("\n\n")[0], re.M)
    return [name for name in names if name != "help"]


def commands(program):
    out = ["# Commands and flags\n", "Each command's `--help`, as this version prints it.\n"]
    to_ask = [[]]
    while to_ask:
        words = to_ask.pop(0)
        text = command_help(program, words)
        to_ask = [words + [name] for name in subcommands(text)] + to_ask
        out.append(f"## {' '.join(['bakeoff', *words])}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(out)


# Keys and fields, from JSON Schemas.


def kind_of(schema):
    """What a value may be, in short, with links to the tables below."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind_of(one) for one in schema[several]))
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list of {kind_of(schema['items'])}"
    more = schema.get("additionalProperties")
    if kind == "object" and isinstance(more, dict):
        return f"table of {kind_of(more)}"
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "at least"),
              ("maximum", "at most")) if key in schema]
    return ", ".join([kind, *bounds])


def keys_table(schema, head):
    required = set(schema.get("required", []))
    rows = []
    for name, value in schema.get("properties", {}).items():
        default = f" Default: `{json.dumps(value['default'])}`." if "default" in value else ""
        must = "yes" if name in required else ""
        rows.append([f"`{name}`", kind_of(value), must, cell(value.get("description", "")) + default])
    return table([head, "is", "required", ""], rows) if rows else ""


def schema_page(path, title, head):
    schema = json.loads((ROOT / path).read_text())
    out = [f"# {title}\n", cell(schema.get("description", "")) + "\n", keys_table(schema, head)]
    for name, one in sorted(schema.get("$defs", {}).items()):
        out.append(f"## {name}\n\n{cell(one.get('description', ''))}\n")
        rows = keys_table(one, head)
        choices = one.get("oneOf") or one.get("anyOf") or []
        if rows:
            out.append(rows)
        elif choices:
            for choice in choices:
                described = cell(choice.get("description", ""))
                out.append(f"- {kind_of(choice)}{': ' + described if described else ''}")
                out.append("\n" + keys_table(choice, head) if choice.get("properties") else "")
        else:
            out.append(f"{kind_of(one)}\n")
    return "\n".join(out)


def documented(text, pattern):
    """Doc comments and what follows them, where the pattern matches that line."""
    found, comment = [], []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("///"):
            comment.append(line[3:].strip())
            continue
        match = re.match(pattern, line)
        if match and comment:
            found.append((match, " ".join(comment)))
        if not line.startswith("#["):
            comment = []
    return found


# Fields of the record, from its types.


def record_fields():
    out = [
        "# Fields of the record\n",
        "What each line of `trials.jsonl` and the files beside it hold, from the types that write them. "
        "[record.md](../docs/record.md) says what belongs together. A field that is missing or "
        "`null` was not measured.\n",
    ]
    count = 0
    for path in sorted((ROOT / "crates/record/src").rglob("*.rs")):
        text = path.read_text().split("#[cfg(test)]")[0]
        for match in re.finditer(
            r"((?:^///[^\n]*\n)+)((?:^#\[[^\n]*\n)*)^pub struct (\w+)[^;{(\n]*\{\n(.*?)^\}",
            text,
            re.M | re.S,
        ):
            if "Serialize" not in match[2]:
                continue
            rows = [
                [f"`{m[1].removeprefix('r#')}`", f"`{m[2]}`", cell(said)]
                for m, said in documented(match[4], r"pub (\S+): (.*),$")
            ]
            if rows:
                says = " ".join(line.strip()[3:].strip() for line in match[1].splitlines())
                out.append(f"## {match[3]}\n\n{cell(says)}\n\n{table(['field', 'type', ''], rows)}")
                count += 1
    if count < 15:
        sys.exit(f"only {count} types of the record were understood")
    return "\n".join(out)


# The site.


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.update(attributes[key] for key in ("id", "name") if attributes.get(key))
        for key in ("href", "src"):
            if attributes.get(key):
                self.links.append(attributes[key])


def broken(site):
    """Links of the site that lead to no file, or to no heading."""
    pages = {}
    for path in site.rglob("*.html"):
        links = Links()
        links.feed(path.read_text())
        pages[path.resolve()] = links
    for path, page in sorted(pages.items()):
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            if re.match(r"[a-z]+:|//", link):
                continue
            target, _, name = link.partition("#")
            to = (path.parent / unquote(target)).resolve() if target else path
            if not to.exists() or name and to in pages and unquote(name) not in pages[to].names:
                yield f"{path.relative_to(site.resolve())}: {link}"


def listed():
    """Parts of docs/README.md, each with the path and the title of its pages."""
    parts = [("", [("README.md", "bakeoff"), (MAP, "All pages")])]
    for line in (ROOT / MAP).read_text().splitlines():
        if line.startswith("## "):
            parts.append((line[3:], []))
        elif match := re.match(r"- \[(.+?)\]\((\S+?)\)", line):
            path = os.path.normpath(os.path.join("docs", match[2]))
            parts[-1][1].append((path, match[1]))
    pages = {path for _, chapters in parts for path, _ in chapters}
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    if there - pages:
        sys.exit(f"{MAP} does not list {', '.join(sorted(there - pages))}")
    return parts


def source_links(text, page, pages):
    """Shows links to files that are not among the site's pages as paths in the repository."""

    def replaced(match):
        said, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target.split("#")[0]))
        if path in pages:
            # mdBook calls the page of a folder so.
            return match[0].replace("README.md", "index.md")
        return f"{said} (`{path}`)" if path not in said else said

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", replaced, text)


def main():
    program, mdbook, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "src"
    made = {
        "reference/commands.md": commands(program),
        "reference/plan-keys.md": schema_page("docs/schema/plan.schema.json", "Keys of plan files", "key"),
        "reference/workload-keys.md": schema_page(
            "docs/schema/workload.schema.json", "Keys of workload files", "key"
        ),
        "reference/hosts-keys.md": schema_page(
            "docs/schema/hosts.schema.json", "Keys of hosts files", "key"
        ),
        "reference/record-fields.md": record_fields(),
        "reference/report-fields.md": schema_page(
            "docs/schema/report.schema.json", "Fields of the report", "field"
        ),
    }
    parts = listed()
    pages = {path for _, chapters in parts for path, _ in chapters}
    reference = next(chapters for part, chapters in parts if part == "Reference")
    reference[:0] = [(path, text.split("\n")[0][2:]) for path, text in made.items()]
    lines = ["# Summary\n"]
    for part, chapters in parts:
        lines.append(f"# {part}\n" if part else "")
        for path, title in chapters:
            text = made.get(path) or source_links((ROOT / path).read_text(), path, pages)
            target = source / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            lines.append(f"- [{title}]({path})" if part else f"[{title}]({path})")
    (source / "SUMMARY.md").write_text("\n".join(lines) + "\n")
    shutil.copy(ROOT / "docs/report.png", source / "docs/report.png")
    (folder / "book.toml").write_text(BOOK)
    subprocess.run([mdbook, "build", str(folder)], check=True)
    wrong = list(broken(folder / "site"))
    if wrong:
        sys.exit("links that lead nowhere:\n" + "\n".join(wrong))
    print(f"{folder / 'site' / 'index.html'}")


if __name__ == "__main__":
    main()
