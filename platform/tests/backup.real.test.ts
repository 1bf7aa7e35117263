/** A backup that is made under load has every job that was acknowledged before its moment, and a full disk leaves nothing of one. */
import { execFile } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { launcher, millrace, ownerKey, run, type Server, startServer, temporaryFolder } from "./process.ts";

const SUBMITTERS = 6;
/** This many jobs are acknowledged before the backup begins, and as many after it ended. */
const BEFORE = 150;
const LARGE = "x".repeat(400_000);

interface Acknowledged {
  id: string;
  at: number;
  isLarge: boolean;
  isPurged: boolean;
}

interface Load {
  jobs: Acknowledged[];
  stop(): Promise<void>;
}

/** Submits small and large jobs as fast as they are taken, and removes some of the large ones again. */
function submit(server: Server, endpoint: string, key: string): Load {
  const jobs: Acknowledged[] = [];
  let isOn = true;
  const submitter = async (number: number) => {
    for (let turn = number; isOn; turn++) {
      const isLarge = turn % 5 === 0;
      const body = { input: { turn, text: isLarge ? LARGE : "" } };
      const { status, json } = await server.call("POST", `/v2/${endpoint}/run`, { key, body });
      if (status !== 200) throw new Error(`a job was refused with ${status}`);
      const job: Acknowledged = { id: json.id, at: realClock.now(), isLarge, isPurged: false };
      jobs.push(job);
      if (turn % 10 !== 0) continue;
      job.isPurged = true;
      await server.call("POST", `/v2/${endpoint}/cancel/${job.id}`, { key });
    }
  };
  const all = Array.from({ length: SUBMITTERS }, (_, number) => submitter(number));
  return {
    jobs,
    async stop() {
      isOn = false;
      await Promise.all(all);
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

test("every job that was acknowledged before the backup's moment is there after a restore, with its input", async () => {
  await using folder = await temporaryFolder();
  const [data, target, file] = ["data", "target", "a.millrace"].map((name) => join(folder.path, name)) as [
    ...[string, string, string],
  ];
  await using server = await startServer(data);
  const key = await ownerKey(data);
  const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const load = submit(server, endpoint, key);
  await until(() => load.jobs.length >= BEFORE);
  const { header } = await millrace(data, "backup", file);
  const duringBackup = load.jobs.length - BEFORE;
  await load.stop();
  await server.end("SIGKILL");

  await millrace(target, "restore", file, "--master-key-file", join(data, "master-key"));
  await using restored = await startServer(target);
  const moment = Date.parse(header.at);
  const due = load.jobs.filter(({ at, isPurged }) => at <= moment && !isPurged);
  expect(due.length).toBeGreaterThan(BEFORE / 2);
  for (const { id, isLarge } of due) {
    const { status, json } = await restored.call("GET", `/v2/${endpoint}/requests/${id}`, { key });
    expect([id, status, json.input?.text?.length]).toEqual([id, 200, isLarge ? LARGE.length : 0]);
  }
  console.log(
    `${due.length} jobs that were acknowledged before the moment are there, ${due.filter(({ isLarge }) => isLarge).length} with a file; ` +
      `${duringBackup} were acknowledged while the backup was made`,
  );
  expect(await readdir(data)).not.toContain("backup-payloads");
});

test("a full disk is named, and nothing is left on it", async () => {
  await using folder = await temporaryFolder();
  const [data, small] = [join(folder.path, "data"), join(folder.path, "small")];
  await (await startServer(data)).end("SIGTERM");
  await mkdir(small);
  await promisify(execFile)("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", small]);
  const { code, stderr } = await run(launcher, ["backup", join(small, "a"), "--data", data]);
  expect(stderr).toMatch(/^millrace: the disk of .*small (is full|has 0 MB free)/);
  expect([code, await readdir(small)]).toEqual([1, []]);
});
