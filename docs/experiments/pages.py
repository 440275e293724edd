#!/usr/bin/env python3
"""Pages of the published experiments as they were repeated here, in the report's own style.

    docs/experiments/pages.py keep REPORT.html NAME    keeps a report's figures and verdicts in data/NAME.json,
                                                       without its single trials
    docs/experiments/pages.py make PAGE FOLDER         makes of each a page in FOLDER, with an index; PAGE is
                                                       the built page, `web/dist/index.html`
"""

import html
import json
import re
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
# What crates/report/src/html.rs fills in.
SLOT = '<script type="application/json" id="record">null</script>'
FILLED = re.compile(re.escape(SLOT).replace("null", "(.*?)"), re.DOTALL)
INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Published comparisons, repeated</title>
<style>body{{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui}}</style>
<h1>Published comparisons, repeated</h1>
<ul>
{items}
</ul>
"""


def unpacked(packed):
    """A report from the form in pages, which crates/report/src/pack.rs describes."""
    shared = []

    def read(value):
        if not isinstance(value, list):
            return value
        kind = value[0]
        if kind == 2:
            return shared[value[1]]
        if kind == 0:
            return [read(one) for one in value[1:]]
        return dict(zip(packed["keys"][value[1]], map(read, value[2:]), strict=True))

    for one in packed["shared"]:
        shared.append(read(one))
    return read(packed["value"])


def keep(report: str, name: str) -> None:
    found = FILLED.search(Path(report).read_text())
    if not found:
        sys.exit(f"{report} is no report of bakeoff: expected the page that `bakeoff run` writes")
    kept = {**unpacked(json.loads(found[1])), "trials": []}
    # Where the program was is nobody's matter.
    kept["campaign"]["machine"]["command"][0] = "bakeoff"
    DATA.mkdir(exist_ok=True)
    text = json.dumps(kept, separators=(",", ":"))
    (DATA / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(text)} bytes")


def make(page: str, folder: str) -> None:
    template = Path(page).read_text()
    if template.count(SLOT) != 1:
        sys.exit(f"{page} has no place for a report: build it with `make page`")
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    items = []
    for path in sorted(DATA.glob("*.json")):
        text = path.read_text()
        filled = SLOT.replace("null", text.replace("<", "\\u003c"))
        (out / f"{path.stem}.html").write_text(template.replace(SLOT, filled))
        described = html.escape(json.loads(text)["campaign"]["description"])
        items.append(f'<li><a href="{path.stem}.html">{path.stem}</a>: {described}')
    (out / "index.html").write_text(INDEX.format(items="\n".join(items)))
    print(f"{out / 'index.html'}: {len(items)} experiments")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("keep", "make"):
        sys.exit(__doc__)
    {"keep": keep, "make": make}[sys.argv[1]](*sys.argv[2:])
