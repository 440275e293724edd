#!/usr/bin/env python3
"""Writes what the program is built of as CycloneDX 1.5: packaging/sbom.py TARGET < METADATA

METADATA is what `cargo metadata --locked --format-version 1 --filter-platform TARGET` prints. Only
crates that end up in the program are listed: no dependencies of tests or of build scripts alone.
The same input gives the same bytes: no time, no random serial number.
"""

import json
import os
import sys
import uuid
from datetime import datetime, timezone

ROOT = "bakeoff"


def built_in(metadata):
    """Packages of the program, and for each those that it depends on."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    root = next(i for i, p in packages.items() if p["name"] == ROOT)
    needed, edges = [root], {}
    for one in needed:
        normal = [
            dep["pkg"]
            for dep in nodes[one]["deps"]
            if any(kind["kind"] is None for kind in dep["dep_kinds"])
        ]
        edges[one] = sorted(normal, key=lambda i: reference(packages[i]))
        needed.extend(dep for dep in normal if dep not in needed)
    # What only the compiler runs is not in the program.
    is_macro = lambda p: all("proc-macro" in t["kind"] for t in p["targets"] if "lib" in
                             t["kind"] or "proc-macro" in t["kind"]) and p["name"] != ROOT
    kept = {i: packages[i] for i in needed if not is_macro(packages[i])}
    return packages[root], kept, edges


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # Crates once wrote a slash for OR.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def locked_checksums(path):
    import tomllib

    with open(path, "rb") as file:
        packages = tomllib.load(file)["package"]
    return {(p["name"], p["version"]): p.get("checksum") for p in packages}


def main():
    target = sys.argv[1]
    metadata = json.load(sys.stdin)
    checksums = locked_checksums(os.path.join(metadata["workspace_root"], "Cargo.lock"))
    root, kept, edges = built_in(metadata)
    components = [component(p, checksums) for i, p in kept.items() if p["name"] != ROOT]
    components.sort(key=lambda entry: entry["bom-ref"])
    top = component(root, checksums) | {"type": "application"}
    graph = [
        {
            "ref": reference(package),
            "dependsOn": [reference(kept[dep]) for dep in edges[i] if dep in kept],
        }
        for i, package in kept.items()
    ]
    graph.sort(key=lambda entry: entry["ref"])
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": top,
            "properties": [{"name": "target", "value": target}],
        },
        "components": components,
        "dependencies": graph,
    }
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if seconds:
        when = datetime.fromtimestamp(int(seconds), timezone.utc)
        document["metadata"]["timestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    content = json.dumps(document, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_URL, content)
    document = {"serialNumber": f"urn:uuid:{serial}"} | document
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
