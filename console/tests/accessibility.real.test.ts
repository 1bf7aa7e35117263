/** Every page of the console in a real browser: an automated check of accessibility in both themes, and no word of the security policy. */
import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { missingBrowser, person } from "./chromium.ts";
import { findings } from "./findings.ts";
import { type ConsolePlace, consolePlace } from "./place.ts";
import { button, heading, visit } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

/** Pages that are there in any account. */
const PAGES = [
  ...["/", "/serverless", "/serverless/new", "/pods", "/pods/new", "/clusters", "/clusters/new", "/templates"],
  ...["/templates/new", "/volumes", "/volumes/new", "/secrets", "/secrets/new", "/registries", "/registries/new"],
  ...["/public-endpoints", "/public-endpoints/new"],
  ...["/catalog", "/catalog?show=cpus", "/catalog?show=data-centers", "/billing", "/audit"],
  ...["/account", "/account/people", "/account/keys", "/account/keys?do=create", "/account/ssh-keys"],
  ...[
    "/account/s3-keys",
    "/account/limits",
    "/machines",
    "/installation",
    "/installation/accounts",
    "/installation/models",
  ],
  ...["/installation/prices", "/installation/duties", "/hub", "/hub?show=deployed", "/hub?show=sources"],
  ...["/code", "/billing?dialog=limits"],
];

/** What an operator does with an account, each in a dialog. */
const OF_ACCOUNT = ["Set quotas and limits", "Add credit", "API keys", "Suspend", "Delete"];

const OF_ENDPOINT = ["", "/jobs", "/workers", "/logs", "/releases", "/batches", "/settings", "/try"];
const OF_SHARED = ["", "/try", "/jobs", "/settings"];
const OF_POD = ["", "/logs", "/terminal", "/ports", "/settings"];
const OF_VOLUME = ["", "/files", "/s3"];

/** One of everything, and the pages of each. */
async function ownPages({ at, folder }: ConsolePlace): Promise<string[]> {
  const make = async (path: string, body: object): Promise<string> => {
    const { json, text } = await at.call("POST", path, body);
    if (json.id === undefined) throw new Error(`${path}: ${text}`);
    return json.id;
  };
  const program = { image: `host:${folder}`, cmd: ["sleep", "3600"] };
  const endpoint = await at.endpoint({ name: "pages" });
  const shared = await make("/v2/public-endpoints", { name: "lent-pages", endpointId: endpoint, everyone: true });
  const job = await make(`/v2/${endpoint}/run`, { input: {} });
  const cpu = { id: "cpu3c", vcpuCount: 2 };
  const pod = await make("/v2/pods", { name: "pod", ...program, cpu, ports: ["8000/http", "22/tcp"] });
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 };
  const cluster = await make("/v2/clusters", { name: "cluster", type: "TRAINING", compute, ...program });
  const template = await make("/v2/templates", { name: "template", ...program });
  const [machine] = (await at.call("GET", "/v2/installation/machines")).json.machines;
  const volume = await make("/v2/network-volumes", { name: "data", size: 10, dataCenter: machine.dataCenterId });
  const deployed = await make("/v2/hub/listings/millrace.echo/deploy", { test: false });
  const secret = await make("/v2/account/secrets", { name: "TOKEN", value: "a" });
  const registry = await make("/v2/registries", { name: "registry", username: "u", password: "p" });
  return [
    ...OF_ENDPOINT.map((tab) => `/serverless/${endpoint}${tab}`),
    `/serverless/${endpoint}/jobs/${job}`,
    ...OF_SHARED.map((tab) => `/public-endpoints/${shared}${tab}`),
    ...OF_POD.map((tab) => `/pods/${pod}${tab}`),
    ...OF_VOLUME.map((tab) => `/volumes/${volume}${tab}`),
    ...[`/clusters/${cluster}`, `/templates/${template}`, `/secrets/${secret}`, `/registries/${registry}`],
    ...[`/machines/${machine.id}`, "/hub/millrace.embeddings", `/hub/deployments/${deployed}`],
  ];
}

/** A page of rows or of a record has a button for it, and a page that makes something a line below its summary. */
const showsItsCall = async (page: Page) => {
  // Behind an open dialog the button is hidden from readers.
  const copy = page.getByRole("button", { name: "Copy as curl", includeHidden: true });
  return (await copy.or(page.getByText("The same with curl")).count()) > 0;
};

/** Dialogs of the operator, and of whoever exports usage. */
async function dialogs(walk: ConsolePlace): Promise<string[]> {
  const { at, page } = walk;
  await at.call("POST", "/v2/installation/accounts", { name: "Friends" });
  const found: string[] = [];
  const check = async (open: () => Promise<void>) => {
    await visit(walk, "/installation/accounts");
    await open();
    await page.getByRole("dialog").or(page.getByRole("alertdialog")).first().waitFor();
    found.push(...(await findings(page)));
  };
  for (const name of OF_ACCOUNT)
    await check(async () => {
      await button(page, "Actions for Friends").click();
      await page.getByRole("menuitem", { name }).click();
    });
  await check(() => button(page, "Export usage").click());
  return found;
}

/** Pages of people who are not signed in. */
async function outside({ at, browser, troubles }: ConsolePlace): Promise<string[]> {
  const { context, page } = await person(browser, troubles);
  await page.goto(`${at.server.url}/sign-in`);
  await heading(page, "Sign in by link").waitFor();
  const found = await findings(page);
  const { json } = await at.call("POST", "/v2/account/invitations", { role: "viewer" });
  await page.goto(json.url);
  await heading(page, /^Join/).waitFor();
  found.push(...(await findings(page)));
  await page.goto(`${at.server.url}/sign-in/provider`);
  await heading(page, "This tab did not ask for that").waitFor();
  found.push(...(await findings(page)));
  await context.close();
  return found;
}

test("nothing on any page keeps people out", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed);
  const { context, page, step, troubles } = walk;
  await enterByLink(walk);
  const found: string[] = [];
  const left = [...(await ownPages(walk)), ...PAGES];
  const checkRest = async (tab: Page) => {
    for (let path = left.shift(); path !== undefined; path = left.shift()) {
      await step(path, async () => {
        await visit({ ...walk, page: tab }, path!);
        found.push(...(await findings(tab)));
        if (!(await showsItsCall(tab))) found.push(`${path} does not show the API call behind it`);
      });
    }
  };
  // Two tabs, because one leaves the browser idle for half of the time.
  await Promise.all([checkRest(page), checkRest(await context.newPage())]);
  await step("dialogs", async () => void found.push(...(await dialogs(walk))));
  await step("outside", async () => void found.push(...(await outside(walk))));
  expect(found).toEqual([]);
  expect(troubles.seen).toEqual([]);
  // It looks at every page in both themes, which takes 100 s on two quiet cores.
}, 600_000);
