/** What holds for the flat dialect of every resource: it covers the whole record, and reading and writing it gives the same record. */
import { describe, expect, test } from "vitest";
import type { Dialect, Flat } from "./flat.ts";
import { realRandom, SeededRandom } from "./random.ts";
import { failures } from "./validate.ts";

export interface Spoken<Kept, Terms> {
  dialect: Dialect<Kept, Terms>;
  /** Records that together have every field. Because of `Required<Kept>`, the compiler asks for new fields here. */
  whole: readonly Required<Kept>[];
  /** Returns a random record that a creation in the dialect could have made. */
  any(random: SeededRandom): Kept;
  /** Values that a creation must give but no record shows, such as a password. */
  hidden?: Flat;
  /** Returns what the service makes from the terms of a creation. */
  made(terms: Terms): Kept;
}

const ROUNDS = 300;

export function flatConformance<Kept extends object, Terms extends object>(
  name: string,
  { dialect, whole, any, hidden = {}, made }: Spoken<Kept, Terms>,
): void {
  describe(`the flat dialect of ${name}`, () => {
    test("says each field of a record, or leaves it out by its name, and nothing that is not there", () => {
      expect(gapsIn(dialect, whole)).toEqual({ unspoken: [], unknown: [] });
    });

    test("says a record that is made of it again", () => {
      const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
      console.log(`MILLRACE_TEST_SEED=${seed}`);
      const random = new SeededRandom(seed);
      for (let i = 0; i < ROUNDS; i++) {
        const kept = any(random);
        const flat = { ...dialect.of(kept), ...hidden };
        expect(failures(dialect.create, flat)).toEqual([]);
        expect(made(dialect.terms(flat))).toEqual(kept);
      }
    });
  });
}

/** Finds the fields that a dialect does not cover, and the fields it names that no record has. */
export function gapsIn<Kept extends object>(
  { fields, unsaid }: Pick<Dialect<Kept, never>, "unsaid"> & { fields: Record<string, { says: readonly string[] }> },
  whole: readonly Kept[],
): { unspoken: string[]; unknown: string[] } {
  const named = new Set([...Object.values(fields).flatMap(({ says }) => says), ...Object.keys(unsaid)]);
  const all = new Set(whole.flatMap((kept) => pathsOf(kept, named)));
  return {
    unspoken: [...all].filter((path) => !named.has(path)),
    unknown: [...named].filter((path) => !all.has(path)),
  };
}

/** Returns the paths of all fields, including those inside objects. It does not look inside a field that the dialect names as a whole. */
function pathsOf(value: unknown, named: ReadonlySet<string>, path = ""): string[] {
  if (path !== "" && named.has(path)) return [path];
  if (Array.isArray(value) && typeof value[0] === "object") return pathsOf(value[0], named, path);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOf(inner, named, path === "" ? name : `${path}.${name}`),
  );
}
