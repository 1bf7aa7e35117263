/** The bodies that cost most to read, for any size. Each was found by measuring and is the worst for one step of reading. */

const filled = (unit: string, bytes: number) => unit.repeat(Math.max(0, Math.floor(bytes / Buffer.byteLength(unit))));

function members(bytes: number): string {
  const parts: string[] = [];
  let length = 20;
  for (let i = 0; length < bytes; i++) {
    const part = `"${i.toString(36)}":0`;
    parts.push(part);
    length += part.length + 1;
  }
  return `{${parts.slice(0, -1).join(",")}}`;
}

/** JSON values of at most this many bytes. */
export const worstValues: Record<string, (bytes: number) => string> = {
  "short members": members,
  "empty objects": (bytes) => `[${filled("{},", bytes - 4)}{}]`,
  zeros: (bytes) => `[${filled("0,", bytes - 4)}0]`,
  nesting: (bytes) => filled("[", bytes / 2) + filled("]", bytes / 2),
  "half characters": (bytes) => `[${filled('"\\ud83d",', bytes - 8)}0]`,
  "long text": (bytes) => `"${filled("é\\n", bytes - 4)}"`,
};

/** Puts the value at this path inside nested objects. */
export const wrapped = (value: string, path: readonly string[]) =>
  path.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, value);
