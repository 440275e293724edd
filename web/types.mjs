// Writes the types of the report's JSON, made/schema.ts, from docs/schema/report.schema.json, so
// that the page cannot expect what the report does not write.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { compileFromFile } from "json-schema-to-typescript";

const here = (path) => new URL(path, import.meta.url);
const [schema, types] = [here("../docs/schema/report.schema.json"), here("made/schema.ts")];
const made = await compileFromFile(schema.pathname, {
  additionalProperties: false,
  bannerComment: "// Made by types.mjs from docs/schema/report.schema.json; not to be edited.",
  cwd: here("../docs/schema/").pathname,
});
// A file that did not change keeps its date, so that nothing is built for it.
await mkdir(new URL(".", types), { recursive: true });
const before = await readFile(types, "utf8").catch(() => "");
if (before !== made) await writeFile(types, made);
