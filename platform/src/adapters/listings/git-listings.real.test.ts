/** A Git repository as a source of listings, with the system's git. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { realClock } from "../../kernel/clock.ts";
import { listingsConformance } from "../../ports/listings/listings.conformance.ts";
import { GitListings } from "./git-listings.ts";

const execute = promisify(execFile);
const WHO = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];

async function repository(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-git-"));
  const origin = join(folder, "team/worker-echo.git");
  await mkdir(origin, { recursive: true });
  const git = async (...args: string[]) => (await execute("git", [...WHO, ...args], { cwd: origin })).stdout.trim();
  await git("init", "--quiet", "--initial-branch=main");
  const put = async (all: Record<string, string>) => {
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(origin, path)), { recursive: true });
      await writeFile(join(origin, path), text);
    }
    await git("add", "--all", "--force");
    await git("commit", "--quiet", "--allow-empty", "--message", "a change");
  };
  await put(files);
  const open = (asked: { url?: string; ref?: string } = {}) => {
    const { url = `file://${origin}`, ref } = asked;
    const access = { protocol: "file" as const, environment: { PATH: process.env.PATH } };
    return new GitListings({ url, ref, folder: join(folder, "kept"), everyMs: 60_000, clock: realClock, access });
  };
  return { ...{ folder, origin, git, put, open }, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const named = (title: string) => ({ ".runpod/hub.json": JSON.stringify({ title }) });

listingsConformance("GitListings", async (files) => {
  // Git keeps no folder of its own name.
  const { ".git/x/hub.json": _, ...others } = files;
  const there = await repository(others);
  const source = there.open();
  await source.renew();
  return {
    source,
    async put(changed) {
      await there.put(changed);
      await source.renew();
    },
    [Symbol.asyncDispose]: () => there[Symbol.asyncDispose](),
  };
});

test("a listing is called as its repository is, and its release by the tag or the commit", async () => {
  await using there = await repository(named("1"));
  await there.git("tag", "-a", "v1", "-m", "the first");
  await there.put(named("2"));
  const [tagged, newest] = [there.open({ ref: "v1" }), there.open()];
  await tagged.renew();
  const [first] = (await tagged.read()).listings;
  expect(first).toMatchObject({ owner: "team", name: "worker-echo", label: "v1", hub: { text: '{"title":"1"}' } });
  await newest.renew();
  const [second] = (await newest.read()).listings;
  expect(second).toMatchObject({ label: (await there.git("rev-parse", "HEAD")).slice(0, 12) });
  expect(second!.version).not.toBe(first!.version);
});

test("what was fetched stays when the repository is gone, also for the next server, and the reason is told", async () => {
  await using there = await repository(named("kept"));
  const before = there.open();
  await before.renew();
  await rm(there.origin, { recursive: true });
  await expect(before.renew()).rejects.toThrow(/^git failed: .*does not (appear to be|exist)/);
  const after = there.open();
  expect((await after.read()).listings).toHaveLength(1);
});

test("a link in the repository is not followed, and nothing is checked out", async () => {
  await using there = await repository({ "good/hub.json": "{}" });
  await mkdir(join(there.origin, "bad"));
  await symlink("/etc/passwd", join(there.origin, "bad/hub.json"));
  await there.put({});
  const source = there.open();
  await source.renew();
  const { listings, faults } = await source.read();
  expect(listings.map(({ name }) => name)).toEqual(["good"]);
  expect(faults).toMatchObject([{ file: "bad/hub.json", why: expect.stringContaining("links are not followed") }]);
});

test("a branch that does not exist is named, and an address of another protocol is refused by git", async () => {
  await using there = await repository(named("1"));
  await expect(there.open({ ref: "none" }).renew()).rejects.toThrow("the repository has no branch or tag 'none'");
  const other = there.open({ url: "ext::sh -c 'touch /tmp/never'" });
  await expect(other.renew()).rejects.toThrow(/transport 'ext' not allowed/);
});

test("without git it says so", async () => {
  const source = new GitListings({
    ...{ url: "file:///nowhere", folder: "/nonexistent/kept", everyMs: 1000, clock: realClock },
    access: { protocol: "file", environment: { PATH: "/nonexistent" } },
  });
  await expect(source.renew()).rejects.toThrow("git is not installed on this machine");
  await expect(source.read()).rejects.toThrow("it was not fetched yet");
});
