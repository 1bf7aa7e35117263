/** The page that says what grows (docs/operating.md) names every kind of record and every table that a server writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSourceTree, root } from "../../tests/source-tree.ts";
import { allSettings } from "../settings/settings.ts";

const page = readFileSync(join(root, "docs/operating.md"), "utf8");
const part = page.slice(page.indexOf("## What grows"), page.indexOf("A file of SQLite does not shrink"));
const rows = part.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| What"));

/** Rows by their beginnings, with the kinds of records and the tables that each stands for. */
const NAMED: Record<string, readonly string[]> = {
  "jobs that wait": [
    ...["jobs", "payloads", "chunks", "keys", "counters", "bindings", "job_payloads", "job_chunks", "job_keys"],
    ...["job_counters", "job_bindings", "job_turns", "holders"],
  ],
  results: ["purged", "purged_jobs"],
  webhooks: ["outbox"],
  "[batches]": ["batch", "batch-page", "batch-text", "batch-run"],
  "the audit log |": ["audit-entry"],
  "series of metrics": ["metrics-series", "metrics-spans", "pod-figures"],
  spans: ["span", "metered-storage"],
  "charges for calls": ["charges", "key_charges", "job_charges", "job_key_charges"],
  payments: ["credit"],
  "changes of prices": ["price-change"],
  "notices of spend": ["spend-notice"],
  "endpoints, Pods": [
    ...["endpoint", "worker-key", "removed-endpoint", "hub-deployment", "pod", "pod-key", "pod-remains", "instance"],
    ...["cluster", "removed-cluster", "allotment", "api-key", "api-key-use", "s3-key", "ssh-keys", "secret", "worker"],
    ...["secret-value", "registry", "registry-credential", "registry-delegation", "image-proofs", "template"],
    ...["network-volume", "network-volume-use", "removed-network-volume", "public-endpoint"],
  ],
  "[models]": ["model", "model-copy"],
  "names that public endpoints had": ["former-public-endpoint"],
  "releases of": ["release"],
  "people and invitations": ["account", "first-account", "user", "invitation"],
  "sessions,": ["session", "sign-in-link", "code-login"],
  "links to ports": ["port-visit", "terminal-ticket"],
  "servers and machines": [
    "node",
    "machine",
    "machine-seen",
    "machine-drain",
    "machine-key",
    "ssh-host-key",
    "master-keys",
  ],
  "counts for rate": ["rate_windows"],
};

test("each named row is on the page", () => {
  const absent = Object.keys(NAMED).filter((name) => !rows.some((row) => row.startsWith(`| ${name}`)));
  expect(absent).toEqual([]);
});

test("each row names its settings, or says why it needs none", () => {
  const variables = new Set(allSettings.map(({ variable }) => variable));
  const last = (row: string) => row.split("|").at(-2)!.trim();
  const isExplained = (text: string) => /^none: \S+ \S+ \S+/.test(text);
  const names = (text: string) => text.match(/MILLRACE_[A-Z0-9_]+/g) ?? [];
  const wrong = rows.filter((row) => !isExplained(last(row)) && names(last(row)).length === 0);
  const unknown = rows.flatMap((row) => names(last(row))).filter((name) => !variables.has(name));
  expect([wrong, unknown]).toEqual([[], []]);
});

const known = new Set(Object.values(NAMED).flat());
const sources = readSourceTree().filter(
  ({ path }) => path.startsWith("platform/src/") && !path.endsWith(".test.ts") && !path.includes("/kubernetes/"),
);
const found = (pattern: RegExp) =>
  new Set(sources.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, one]) => one!)));

test("each kind of record belongs to a row", () => {
  const kinds = found(/(?:: Kept<[^=]*> = |new Collection\(\w+, )\{[^}]*?\bkind: "([a-z0-9-]+)"/g);
  expect(kinds.size).toBeGreaterThan(40);
  expect([...kinds].filter((kind) => !known.has(kind))).toEqual([]);
});

/** They hold the records and what finds them. */
const OF_RECORDS = ["records", "unique_keys", "list_keys", "leases", "stamps", "schema_versions"];

test("each table belongs to a row", () => {
  const tables = found(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([a-z_]+) \(/g);
  expect(tables.size).toBeGreaterThan(20);
  expect([...tables].filter((table) => !known.has(table) && !OF_RECORDS.includes(table))).toEqual([]);
});
