/** Every page of the console in a real browser: an automated check of accessibility in both themes, and no word of the security policy. */
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser } from "./chromium.ts";
import { findings } from "./findings.ts";
import { consolePlace } from "./place.ts";
import { visit } from "./walk.ts";
import { firstLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

/** Pages that are there in any account. */
const PAGES = [
  ...["/", "/serverless", "/serverless/new", "/pods", "/clusters", "/templates", "/templates/new", "/volumes"],
  ...["/volumes/new", "/secrets", "/secrets/new", "/registries", "/registries/new", "/catalog", "/billing", "/audit"],
  ...["/account", "/account/people", "/account/keys", "/account/keys?do=create", "/account/ssh-keys"],
  ...["/account/s3-keys", "/account/limits", "/machines", "/installation", "/installation/accounts"],
  ...["/installation/prices", "/installation/duties"],
];

const OF_ENDPOINT = ["", "/jobs", "/workers", "/logs", "/releases", "/batches", "/settings", "/try"];

test("nothing on any page keeps people out", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { at, page, step, troubles } = walk;
  await firstLink(walk);
  const endpoint = await at.endpoint({ name: "pages" });
  const found: string[] = [];
  for (const path of [...PAGES, ...OF_ENDPOINT.map((tab) => `/serverless/${endpoint}${tab}`)]) {
    await step(path, async () => {
      await visit(walk, path);
      found.push(...(await findings(page)));
    });
  }
  expect(found).toEqual([]);
  expect(troubles.seen).toEqual([]);
});
