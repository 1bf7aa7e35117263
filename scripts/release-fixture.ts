/** Writes a small data folder in this release's format. A test opens the folders of all releases with the current code. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { FakeClock } from "../platform/src/kernel/clock.ts";
import { SeededRandom } from "../platform/src/kernel/random.ts";
import { openInstallation } from "../platform/src/main.ts";
import { settingsFrom } from "../platform/src/settings/settings.ts";

const fixtures = new URL("../platform/tests/fixtures/releases/", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("../platform/package.json", import.meta.url), "utf8"));
const folder = fileURLToPath(new URL(`${version}/`, fixtures));
if (existsSync(folder))
  throw new Error(`${folder} is there already: what a release has written is never written again`);
await mkdir(folder, { recursive: true });

// This protects nothing: the same clock and randomness give the same folder every time, including the keys.
const parts = { clock: new FakeClock(), random: new SeededRandom(1), thread: false };
const ownerKey = `release-${version}-owner-key`;
const sshKeys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 someone@somewhere"];
const secrets = [
  { name: "token", value: "a plain value", description: "a description" },
  { name: "Mixed.Case-name/9", value: "líne one\nline two 🌊", description: null },
  { name: "rotated", value: "the value after the rotation", description: "rotated once" },
];

await using installation = await openInstallation(settingsFrom({}, { data: folder }), parts);
const owner = await installation.accounts.firstOwner();
await installation.accounts.setOwnerKey(owner, ownerKey);
const caller = { ...owner, key: "fixture", grants: ["all" as const], exempt: true };
for (const { name, value, description } of secrets) {
  const first = name === "rotated" ? "the value before the rotation" : value;
  const body = { name, value: first, description: description ?? "" };
  const { id } = await installation.secrets.create(caller, body);
  await parts.clock.advance(1000);
  if (first !== value) await installation.secrets.update(caller, id, { value });
}
await installation.account.setSshKeys(caller, sshKeys);
const { key } = await installation.account.issueKey(owner, { name: "reader", scopes: ["read-only"] });

const expected = { ownerKey, readerKey: key, sshKeys, secrets };
writeFileSync(new URL(`${version}/expected.json`, fixtures), `${JSON.stringify(expected, null, 2)}\n`);
console.log(`wrote ${folder}`);
