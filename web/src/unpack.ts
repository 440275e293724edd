// The view model as the page carries it, without its repetitions: crates/report/src/pack.rs says
// how it is written.

type Packed = null | boolean | number | string | [number, ...Packed[]];

interface PackedDocument {
  packed: 1;
  keys: string[][];
  shared: Packed[];
  value: Packed;
}

/** The document as it was before it was packed; one that is not packed comes back as it is. */
export function unpack(document: unknown): unknown {
  if (!isPacked(document)) return document;
  const { keys } = document;
  const shared: unknown[] = [];
  const read = (value: Packed): unknown => {
    if (!Array.isArray(value)) return value;
    const [kind, first] = value;
    if (kind === 2) return shared[first as number];
    if (kind === 0) return (value.slice(1) as Packed[]).map(read);
    const names = keys[first as number] ?? [];
    return Object.fromEntries(names.map((name, index) => [name, read(value[index + 2] ?? null)]));
  };
  for (const one of document.shared) shared.push(read(one));
  return read(document.value);
}

function isPacked(document: unknown): document is PackedDocument {
  return typeof document === "object" && document !== null && "packed" in document;
}
