/** A person's walk through the console in a real browser, on a real server with real workers: from the first link to an empty account. */
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser } from "./chromium.ts";
import { consolePlace } from "./place.ts";
import {
  createEndpoint,
  createFromTemplate,
  deleteEverything,
  repairCrashLoop,
  rotateSecret,
  runJob,
  streamJob,
} from "./walk-compute.ts";
import { deployListing, readProof } from "./walk-hub.ts";
import { priceAndRestore, renameBatch } from "./walk-operator.ts";
import { firstLink, inviteViewer, makeKey, setPassword, signOutAndIn } from "./walk-people.ts";
import { createPod, deletePodAndVolume, fillVolume, followLog, readBill, stopPod, useTerminal } from "./walk-pods.ts";
import { shareAndCall } from "./walk-shared.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test("from the first link to an empty account", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { step, troubles } = walk;
  await step("the first link signs in, once", () => firstLink(walk));
  await step("a password is set", () => setPassword(walk));
  await step("a viewer is invited, cannot write, and is put out", () => inviteViewer(walk, troubles));
  await step("a key is made, used and revoked", () => makeKey(walk));
  await step("signing out counts in all tabs, and the password leads back", () => signOutAndIn(walk));
  await step("a secret is created and rotated", () => rotateSecret(walk));
  await step("an endpoint is created from a template", () => createFromTemplate(walk));
  await step("an endpoint is created by hand", () => createEndpoint(walk));
  await step("a job runs, with the rotated secret", () => runJob(walk));
  await step("a job streams to its page, and is cancelled there", () => streamJob(walk));
  await step("a crash loop explains itself and is repaired", () => repairCrashLoop(walk));
  await step("a listing of the hub is deployed, and its test passes", () => deployListing(walk));
  await step("the job of the test is there", () => readProof(walk));
  await step("a batch gets another name", () => renameBatch(walk));
  await step("an endpoint is shared, and another account calls it", () => shareAndCall(walk, troubles));
  await step("a price is set, and the catalog's restored", () => priceAndRestore(walk));
  await step("a volume takes a file and a folder", () => fillVolume(walk));
  await step("a Pod is created with that volume", () => createPod(walk));
  await step("its log shows the file", () => followLog(walk));
  await step("a terminal copies the file", () => useTerminal(walk));
  await step("the Pod is stopped", () => stopPod(walk));
  await step("the bill names the Pod", () => readBill(walk));
  await step("Pod and volume are deleted", () => deletePodAndVolume(walk));
  await step("everything is deleted", () => deleteEverything(walk));
  expect(troubles.seen).toEqual([]);
});
