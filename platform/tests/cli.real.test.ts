/** The page of the command line, run as a person types it: every block, in order, on a real server. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { launcher, root, run, startServer, temporaryFolder } from "./process.ts";

const PAGE = join(root, "docs/cli.md");
/** The port that the page names. */
const STANDARD_PORT = ":7420";

test("every block of docs/cli.md runs", async () => {
  await using home = await temporaryFolder();
  const data = join(home.path, ".millrace");
  await mkdir(data);
  await using server = await startServer(data, { env: { MILLRACE_COMPUTE: "host" } });
  const blocks = [...(await readFile(PAGE, "utf8")).matchAll(/\n```sh\n(.*?)\n```/gs)].map((match) => match[1]!);
  expect(blocks.length).toBeGreaterThan(8);
  const port = `:${new URL(server.url).port}`;
  const script = ["set -eo pipefail", ...blocks]
    .join("\n")
    .replaceAll(STANDARD_PORT, port)
    .replaceAll("/tmp/", `${home.path}/`);
  const env = { HOME: home.path, XDG_CONFIG_HOME: join(home.path, "config"), MILLRACE_DATA: data };
  const { code, stdout, stderr } = await run("bash", ["-c", script], { env, cwd: root });
  expect([code, code === 0 ? "" : `${stdout}\n${stderr}`]).toEqual([0, ""]);
  expect(stdout).toContain('{"prompt":"hello"}');
  expect(await readFile(join(home.path, "README.md"), "utf8")).toBe(await readFile(join(root, "README.md"), "utf8"));
});

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
