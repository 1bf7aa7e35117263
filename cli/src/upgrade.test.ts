/** `millrace upgrade`: what is newer and how to get it, for each way of installation, also without a network. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { shellFor } from "../../platform/tests/cli-shell.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { isNewer, upgradeCommand } from "./upgrade.ts";
import { VERSION } from "./version.ts";

const execute = promisify(execFile);

/** A registry of packages that answers every question with the same text. */
async function registry(text: string, status = 200) {
  const server = createServer((_, response) => void response.writeHead(status).end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A package as npm lays it out, and the file that its launcher starts. */
async function packageIn(folder: string, name = "millrace"): Promise<string> {
  await mkdir(join(folder, "built"), { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name }));
  return join(folder, "built/main.mjs");
}

async function upgrade(program: string, env: object, ...words: string[]): Promise<string> {
  const { shell, out } = shellFor(env);
  await upgradeCommand(shell, program)
    .exitOverride()
    .parseAsync(["node", "millrace", ...words]);
  return out();
}

test("the version is that of the packages", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../platform/package.json", import.meta.url), "utf8"));
  expect(VERSION).toBe(version);
});

test("versions are compared by their numbers, and one with a word behind it comes first", () => {
  expect(isNewer("0.10.0", "0.9.9")).toBe(true);
  expect(isNewer("1.0.0", "1.0.0-rc.1")).toBe(true);
  expect(isNewer("1.0.0-rc.1", "1.0.0")).toBe(false);
  expect(isNewer("0.1.0", "0.1.0")).toBe(false);
});

test("a package of npm, npx or an image says what is newer and the command for it", async () => {
  await using folder = await temporaryFolder();
  await using newer = await registry('{"version": "99.0.0"}');
  const env = { npm_config_registry: newer.url };
  const global = await packageIn(join(folder.path, "lib/node_modules/millrace"));
  expect(await upgrade(global, env)).toContain(
    "99.0.0 is newer: npm install -g millrace@99.0.0\nthen start the server again",
  );
  const npx = await packageIn(join(folder.path, "_npx/1/node_modules/millrace"));
  expect(await upgrade(npx, env)).toContain("npx millrace@99.0.0 serve");
  const image = await upgrade(global, { ...env, MILLRACE_INSTALLED_AS: "image" });
  expect(image).toContain("docker compose pull && docker compose up -d\nrun it where the compose file is");
  const json = JSON.parse(await upgrade(global, env, "--json"));
  expect(json).toMatchObject({ version: VERSION, way: "npm", newest: { name: "99.0.0", isNewer: true } });
  await expect(upgrade(npx, env, "--yes")).rejects.toThrow("cannot be done from here");
});

test("the newest says so, and nothing is run", async () => {
  await using folder = await temporaryFolder();
  await using same = await registry(JSON.stringify({ version: VERSION }));
  const program = await packageIn(folder.path);
  expect(await upgrade(program, { npm_config_registry: same.url }, "--yes")).toMatch(/this is the newest\n$/);
});

test.each([
  ["no JSON", "<html>", 200, /could not be asked/],
  ["an order instead of a version", '{"version": "1.0.0; rm -rf /"}', 200, /answered with no version/],
  ["404", "{}", 404, /it answered 404/],
  ["more than a megabyte", `{"version": "1.0.0", "x": "${"y".repeat(2_000_000)}"}`, 200, /longer than 1048576 bytes/],
])("a registry that answers with %s is named, with what to do without it", async (_, text, status, message) => {
  await using folder = await temporaryFolder();
  await using odd = await registry(text, status);
  const asked = upgrade(await packageIn(folder.path), { npm_config_registry: odd.url }, "--yes");
  await expect(asked).rejects.toThrow(message);
  await expect(upgrade(await packageIn(folder.path), { npm_config_registry: odd.url })).rejects.toThrow(
    "npm install -g ./millrace-VERSION.tgz",
  );
});

test("without a network it says so and what this version is", async () => {
  await using folder = await temporaryFolder();
  const asked = upgrade(await packageIn(folder.path), { npm_config_registry: "http://127.0.0.1:1" });
  await expect(asked).rejects.toThrow(
    /this is millrace [\d.]+\. Whether there is a newer one is not known: .*ECONNREFUSED/,
  );
});

test("a checkout is compared with its origin, and pulled when asked", async () => {
  await using folder = await temporaryFolder();
  const [origin, clone] = [join(folder.path, "origin"), join(folder.path, "clone")];
  const git = (at: string, ...args: string[]) =>
    execute("git", ["-C", at, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  await packageIn(origin, "millrace-repository");
  await git(origin, "init", "--quiet", "--initial-branch", "main");
  await git(origin, "add", ".");
  await git(origin, "commit", "--quiet", "--message", "one");
  await execute("git", ["clone", "--quiet", origin, clone]);
  const program = join(clone, "node_modules/.cache/built/1/main.mjs");
  expect(await upgrade(program, {})).toContain("this is the newest");
  const part = { name: "millrace-repository", workspaces: ["part"] };
  await mkdir(join(origin, "part"));
  await writeFile(join(origin, "part/package.json"), '{"name": "part", "version": "1.0.0"}');
  await writeFile(join(origin, "package.json"), JSON.stringify(part));
  await git(origin, "add", ".");
  await git(origin, "commit", "--quiet", "--message", "two");
  const command = `git -C ${clone} pull --ff-only && npm --prefix ${clone} install --no-save --omit=dev`;
  expect(await upgrade(program, {})).toContain(`is newer: ${command}`);
  await upgrade(program, {}, "--yes");
  expect(await upgrade(program, {})).toContain("this is the newest");
  // A package that the new version needs is there.
  expect(existsSync(join(clone, "node_modules/part"))).toBe(true);
  await git(clone, "remote", "set-url", "origin", join(folder.path, "gone"));
  await expect(upgrade(program, {})).rejects.toThrow("run 'git pull' there once it can be reached");
});
