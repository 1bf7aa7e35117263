/** Writes the table of docs/settings.md from the settings. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, relative } from "node:path";
import { allSettings } from "../platform/src/settings/settings.ts";

const page = new URL("../docs/settings.md", import.meta.url);
const MARKED = /(<!-- settings -->\n)[\s\S]*?(<!-- end of settings -->)/;

function settingsTable(): string {
  const rows = allSettings.map((row) => {
    const flag = row.flag ? code(`--${row.flag}`) : "";
    const standard = row.default === undefined ? "" : code(fromHome(row.default));
    return `| ${code(row.variable)} | ${flag} | ${standard} | ${row.about} |`;
  });
  return ["| Variable | Flag | Default | What it does |", "|---|---|---|---|", ...rows, ""].join("\n");
}

const code = (text: string) => `\`${text}\``;

/** The table must be the same whichever user writes it. */
const fromHome = (text: string) => (isAbsolute(text) ? `~/${relative(homedir(), text)}` : text);

export function withSettings(text: string): string {
  if (!MARKED.test(text)) throw new Error("the page has no place for the settings");
  return text.replace(MARKED, (_all, begin, end) => `${begin}\n${settingsTable()}\n${end}`);
}

if (import.meta.main) writeFileSync(page, withSettings(readFileSync(page, "utf8")));
