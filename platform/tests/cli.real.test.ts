/** The command line as a process. The blocks of its page run with those of all pages. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { launcher, run, startServer, temporaryFolder } from "./process.ts";

test("a command says by its exit status how it failed", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const status = async (...args: string[]) =>
    (await run(launcher, args, { env: { HOME: folder.path, MILLRACE_DATA: folder.path } })).code;
  expect(await status("pods", "list")).toBe(0);
  expect(await status("pods", "list", "--nonsense")).toBe(2);
  expect(await status("pods", "get", "none")).toBe(3);
  expect(await status("pods", "list", "--url", server.url, "--key-file", join(folder.path, "master-key"))).toBe(4);
  expect(await status("pods", "list", "--url", "http://127.0.0.1:1", "--key-file", join(folder.path, "api-key"))).toBe(
    1,
  );
});
