/** Hostile pages in a real browser: of a Pod, of a worker and from elsewhere. None of them can act as the person who is signed in. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { missingForTests } from "../../platform/src/adapters/host/machine.ts";
import { stay } from "../../platform/src/kernel/clock.ts";
import { millrace } from "../../platform/tests/process.ts";
import { missingBrowser } from "./chromium.ts";
import { type ConsolePlace, consolePlace } from "./place.ts";
import { heading } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const missing = missingBrowser ?? (await missingForTests());
beforeEach(({ skip }) => skip(missing !== undefined, missing));

const PROGRAM = fileURLToPath(new URL("fixtures/hostile.mjs", import.meta.url));
const PORT = 8000;
const SESSION = "__Host-millrace-session";

/** The same program on this machine, outside of Millrace. */
async function elsewhere() {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return { port: line.trim(), [Symbol.dispose]: () => child.kill() };
}

/** Opens the page once it answers, and tells what its attempts came to. */
async function triesOf(page: Page, url: string, target: string): Promise<Record<string, string>> {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await page.goto(`${url}?console=${encodeURIComponent(target)}`);
    if (answer?.ok()) break;
    await stay(100);
  }
  await page.waitForFunction("globalThis.tries !== undefined");
  return (await page.evaluate("tries")) as Record<string, string>;
}

/** How each attempt must have failed, whatever the page's origin is. */
function expectFailed(tries: Record<string, string>, url: string, target: string): void {
  // No answer allows other origins with credentials, and a preflight of a write is refused.
  expect(tries.read).toBe("blocked: TypeError");
  expect(tries.write).toBe("blocked: TypeError");
  // A blind write is sent. The server refuses it, which `expectUntouched` sees.
  expect(tries["blind write"]).toBe("opaque");
  // The console refuses to be framed, and answers in frames are those of another origin.
  expect(tries.form).toMatch(/unreadable|blocked/);
  expect(tries.frame).toMatch(/unreadable|blocked/);
  // A window with the console is cut off from the one that opened it, so that messages reach nobody.
  expect(tries.window).toMatch(/cut off|blocked|not opened/);
  // Pages of other origins cannot take the console's address. Browsers let those below it do so, sandboxed or not: docs/security.md.
  if (new URL(url).origin !== target) expect(tries.history).toBe("blocked: SecurityError");
  // The page token is in the storage of the console's origin, which no program shares.
  expect(tries.storage).toMatch(/nothing|blocked/);
  expect(tries.referrer).not.toContain("/sign-in");
}

async function expectUntouched({ at, page, context }: ConsolePlace, session: string): Promise<void> {
  expect((await at.call("GET", "/v2/account/secrets")).json.secrets).toEqual([]);
  const cookies = await context.cookies(at.server.url);
  expect(cookies.filter(({ name }) => name === SESSION).map(({ value }) => value)).toEqual([session]);
  // The console that was opened shows nothing of the window that opened it, and its own requests still count.
  for (const other of context.pages().filter((one) => one.url().startsWith(`${at.server.url}/secrets`))) {
    expect(await other.evaluate("window.opener")).toBeNull();
    await heading(other, "Secrets").waitFor();
    if (other !== page) await other.close();
  }
}

test("no page acts as the person who opens it", async ({ onTestFailed }) => {
  await using walk = await consolePlace(onTestFailed, { MILLRACE_POD_PORTS: "public" });
  const { at, browser, context, page, folder, step } = walk;
  const target = at.server.url;
  const { port: serverPort } = new URL(target);
  await copyFile(PROGRAM, join(folder, "hostile.mjs"));
  const program = { image: `host:${folder}`, cmd: ["node", "hostile.mjs"], env: { PORT: String(PORT) } };
  const cpu = { id: "cpu3c", vcpuCount: 2 };
  const pod = (await at.call("POST", "/v2/pods", { name: "pod", ...program, cpu, ports: [`${PORT}/http`] })).json.id;
  await enterByLink(walk);
  const session = (await context.cookies(target)).find(({ name }) => name === SESSION)!.value;
  using outside = await elsewhere();
  const pages = {
    "a Pod at its own host": `http://${pod}-${PORT}.localhost:${serverPort}/`,
    "a Pod below the console's own origin": `${target}/pods/${pod}/ports/${PORT}/`,
    "another port of the console's host": `http://127.0.0.1:${outside.port}/`,
    "another host": `http://localhost:${outside.port}/`,
  };
  for (const [name, url] of Object.entries(pages)) {
    await step(name, async () => {
      const hostile = await context.newPage();
      expectFailed(await triesOf(hostile, url, target), url, target);
      await expectUntouched(walk, session);
      await hostile.close();
    });
  }

  await step("a worker's page does not open without a key, and is nobody's with one", async () => {
    const balanced = await at.endpoint({
      name: "balanced",
      type: "LOAD_BALANCER",
      ...program,
      workers: { min: 1, max: 1 },
    });
    const hostile = await context.newPage();
    const url = `${target}/v2/${balanced}/`;
    expect((await hostile.goto(url))!.status()).toBe(401);
    await hostile.route(`${url}?**`, (route) =>
      route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${at.key}` } }),
    );
    expectFailed(await triesOf(hostile, url, target), url, target);
    await expectUntouched(walk, session);
    await hostile.close();
  });

  await step("a session that another port of the host plants is nobody's, and the person signs in again", async () => {
    // The attacker's own session, with an account of theirs: the person must not work in it unawares.
    const theirs = await browser.newContext();
    const other = await theirs.newPage();
    await other.goto((await millrace(at.data, "open")).url);
    await other.waitForURL(`${target}/`);
    const planted = (await theirs.cookies(target)).find(({ name }) => name === SESSION)!.value;
    await theirs.close();
    const hostile = await context.newPage();
    for (const url of [pages["a Pod at its own host"], pages["a Pod below the console's own origin"]]) {
      await hostile.goto(`${url}?session=${planted}`);
      await expectUntouched(walk, session);
    }
    await hostile.goto(`${pages["another port of the console's host"]}?session=${planted}`);
    await hostile.close();
    await page.goto(`${target}/secrets`);
    await heading(page, /^Sign in/).waitFor();
    expect(new URL(page.url()).searchParams.get("why")).toBe("ended");
    expect((await at.call("GET", "/v2/account/secrets")).json.secrets).toEqual([]);
    await page.goto((await millrace(at.data, "open")).url);
    await page.waitForURL(`${target}/`);
  });

  await step(
    "the way back from a hostile page leads to the console, and nothing of the sign-in link is left there",
    async () => {
      await page.goto((await millrace(at.data, "open")).url);
      await page.waitForURL(`${target}/`);
      await page.goto(pages["another host"]);
      await page.evaluate("history.back()");
      await page.waitForURL(`${target}/`);
      await heading(page, /./).first().waitFor();
      const cdp = await context.newCDPSession(page);
      const { entries } = await cdp.send("Page.getNavigationHistory");
      expect(entries.map(({ url }) => url).filter((url) => url.includes("/sign-in#"))).toEqual([]);
      await page.goto(pages["another host"]);
      expect(await page.evaluate("document.referrer + JSON.stringify(history.state)")).not.toContain("sign-in");
    },
  );

  await step("a preview of a sign-in link does not use it up", async () => {
    const { url } = await millrace(at.data, "open");
    for (const method of ["GET", "HEAD"]) await fetch(url, { method, headers: { Accept: "text/html" } });
    await page.goto(pages["another host"]);
    await page.evaluate(`new Promise((resolve) => {
      const link = Object.assign(document.createElement("link"), { rel: "prefetch", href: ${JSON.stringify(url)} });
      link.onload = link.onerror = resolve;
      document.head.append(link);
    })`);
    await page.goto(url);
    await page.waitForURL(`${target}/`);
  });
});
