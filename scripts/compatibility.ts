/** Writes the compatibility matrix from what the real tests recorded. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";

/** What the tests found out about one version of a client. */
export interface Tried {
  client: string;
  version: string;
  /** The file whose tests did it. */
  test: string;
  /** The result of each operation, by the name of its test. */
  operations: Record<string, "works" | "fails">;
}

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const RECORD = "docs/compatibility.json";
const MARKED = /<!-- compatibility -->[\s\S]*<!-- end of compatibility -->/;

export const recorded = (): Tried[] => JSON.parse(read(RECORD)) as Tried[];

/** The version of a package that the tests use. */
export function versionOf(name: string): string {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, { version: string }> };
  return packages[`node_modules/${name}`]!.version;
}

export function record(tried: Tried): void {
  const others = recorded().filter(
    ({ client, version, test }) => test !== tried.test || client !== tried.client || version !== tried.version,
  );
  const all = [...others, tried].sort((a, b) => `${a.client} ${a.version}`.localeCompare(`${b.client} ${b.version}`));
  writeFileSync(new URL(`../${RECORD}`, import.meta.url), `${JSON.stringify(all, undefined, 2)}\n`);
}

function table({ client, version, operations, test }: Tried): string {
  const rows = Object.entries(operations).map(([operation, result]) => `| ${operation} | ${result} |`);
  return [
    `### ${client} ${version}`.trimEnd(),
    "",
    `Test: \`${test}\``,
    "",
    "| Operation | Result |",
    "|---|---|",
    ...rows,
  ].join("\n");
}

function summary(all: readonly Tried[]): string {
  const rows = all.map(({ client, version, operations }) => {
    const results = Object.values(operations);
    return `| ${client} | ${version} | ${results.filter((result) => result === "works").length} of ${results.length} |`;
  });
  return ["| Client | Version | Operations that work |", "|---|---|---|", ...rows].join("\n");
}

export function withCompatibility(text: string, all = recorded()): string {
  if (!MARKED.test(text)) throw new Error("the document has no place for the matrix");
  const said = [summary(all), "## Each operation", ...all.map(table)].join("\n\n");
  return text.replace(MARKED, () => `<!-- compatibility -->\n\n${said}\n\n<!-- end of compatibility -->`);
}

if (import.meta.main) {
  const page = new URL("../docs/compatibility.md", import.meta.url);
  writeFileSync(page, withCompatibility(readFileSync(page, "utf8")));
}
