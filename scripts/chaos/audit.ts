/** What must be true after a chaos run, whatever happened: about jobs, Pods, secrets, bills, and what is left on the machine. */
import { join } from "node:path";
import { PostgresStore } from "../../platform/src/adapters/postgres/postgres-store.ts";
import { stay } from "../../platform/src/kernel/clock.ts";
import { type KeptSpan, spans } from "../../platform/src/metering/span.ts";
import { Collection } from "../../platform/src/ports/store/collection.ts";
import { cgroups, linksOf, loopDevicesOf, mountsBelow } from "../testing/remains.ts";
import type { Crowd } from "./crowd.ts";
import type { ChaosNode } from "./node.ts";
import { processesWith } from "./trouble.ts";

const LOOK_MS = 1_000;
const SETTLES_MS = 4 * 60_000;

/** Looks until nothing is wrong any more, or for so long that what is wrong will stay so. */
async function settled(look: () => Promise<string[]>): Promise<string[]> {
  for (const until = performance.now() + SETTLES_MS; ; await stay(LOOK_MS)) {
    const wrong = await look();
    if (wrong.length === 0 || performance.now() > until) return wrong;
  }
}

/** Each acknowledged Pod is as it was last asked to be, and each removed one is gone. */
export const podsWrong = (crowd: Crowd) =>
  settled(async () => {
    const wrong: string[] = [];
    for (const { id, acknowledged, pending } of crowd.pods.values()) {
      const { status, json, text } = await crowd.askOn("GET", `/v2/pods/${id}`);
      const wanted = [acknowledged, pending].map((action) => (action === "stop" ? "EXITED" : "RUNNING"));
      if (status !== 200) wrong.push(`Pod ${id} was acknowledged: ${status} ${text.slice(0, 200)}`);
      else if (!wanted.includes(json.status))
        wrong.push(`Pod ${id}: ${json.status}, ${json.statusReason}, not ${wanted}`);
    }
    for (const id of crowd.removedPods) {
      const { status } = await crowd.askOn("GET", `/v2/pods/${id}`);
      if (status !== 404) wrong.push(`Pod ${id} was deleted, and is there`);
    }
    return wrong;
  });

export async function secretsWrong(crowd: Crowd): Promise<string[]> {
  const wrong: string[] = [];
  for (const { id, acknowledged, pending } of crowd.secrets.values()) {
    const { json, text } = await crowd.askOn("GET", `/v2/account/secrets/${id}`);
    const seen = json?.description;
    if (seen !== acknowledged && seen !== pending)
      wrong.push(`secret ${id}: ${text.slice(0, 200)}, not ${acknowledged}`);
  }
  return wrong;
}

/** A webhook may come twice, but it says the same. */
export function webhooksWrong({ told }: Crowd): string[] {
  return [...told].filter(([, said]) => said.size > 1).map(([id, said]) => `job ${id} was told as ${[...said]}`);
}

/** Background work that still fails on a node although all troubles are over. */
export const dutiesWrong = (crowd: Crowd, urls: readonly string[]) =>
  settled(async () => {
    const wrong: string[] = [];
    for (const url of urls) {
      const { json } = await crowd.askAt(url, "GET", "/v2/installation/duties");
      type Duty = { name: string; every: number | null; lastResult: string | null; lastError: string | null };
      // Work that follows an event is tried again at the next one.
      for (const { name, every, lastResult, lastError } of json.duties as Duty[])
        if (every !== null && lastResult === "FAILED") wrong.push(`duty "${name}" of ${url} fails: ${lastError}`);
    }
    return wrong;
  });

/** Waits until machines have ended and removed what was deleted. */
export const instancesLeft = (crowd: Crowd) =>
  settled(async () => {
    const { json } = await crowd.askOn("GET", "/v2/installation/machines");
    const left: string[] = [];
    for (const { id } of json.machines as { id: string }[]) {
      const { json: there } = await crowd.askOn("GET", `/v2/installation/machines/${id}/instances`);
      for (const instance of there.instances)
        left.push(`machine ${id} still has ${JSON.stringify(instance).slice(0, 200)}`);
    }
    return left;
  });

export interface Bills {
  lines: number;
  spans: number;
  free: number;
  /** Times of Pods that nobody is billed for: their machine was silent, or their program was dead. */
  unbilled: number;
  unbilledMs: number;
  wrong: string[];
}

/**
 * The spans of each instance follow each other without an overlap, and the last has an end once nothing runs. There is no gap either, except
 * in the running time of a Pod: while its machine is silent it is not billed.
 */
export async function billsOf(url: string): Promise<Bills> {
  await using store = await PostgresStore.open(url);
  const found: { number: number; doc: KeptSpan }[] = [];
  for await (const { id, doc } of new Collection(store, spans).all())
    found.push({ number: Number(id.split(".").at(-1)), doc });
  const lines = Map.groupBy(found, ({ doc }) => `${doc.kind} ${doc.instance}`);
  const bills: Bills = { lines: lines.size, spans: found.length, free: 0, unbilled: 0, unbilledMs: 0, wrong: [] };
  const { wrong } = bills;
  bills.free = found.filter(({ doc }) => doc.free).length;
  for (const [instance, line] of lines) {
    const inOrder = line.toSorted((a, b) => a.number - b.number);
    for (const [at, { number, doc }] of inOrder.entries()) {
      const before = inOrder[at - 1]?.doc;
      const shown = `${instance}, span ${number} (${doc.phase})`;
      if (number !== at + 1) wrong.push(`${shown}: it should be number ${at + 1}`);
      if (doc.to === null) wrong.push(`${shown}: it has no end, though nothing runs`);
      else if (doc.to < doc.from) wrong.push(`${shown}: it ends ${doc.from - doc.to} ms before it begins`);
      const gapMs = before ? doc.from - (before.to ?? Number.POSITIVE_INFINITY) : 0;
      if (gapMs > 0 && doc.kind === "pod" && doc.phase === "running") {
        bills.unbilled++;
        bills.unbilledMs += gapMs;
      } else if (gapMs !== 0) wrong.push(`${shown}: begins ${gapMs} ms after the end of the one before`);
    }
  }
  return bills;
}

/** What the nodes left on the machine after they ended in order. */
export function remainsWrong(nodes: readonly ChaosNode[], programs: readonly string[]): string[] {
  const groups = cgroups("/sys/fs/cgroup", 6);
  return [
    ...processesWith(programs).map((pid) => `process ${pid}`),
    ...nodes.flatMap(({ name, key, data }) => [
      ...mountsBelow(data).map((mount) => `${name}: mount ${mount}`),
      ...loopDevicesOf(join(data)).map((device) => `${name}: loop device ${device}`),
      ...groups.filter((path) => path.includes(`millrace-${key}`)).map((path) => `${name}: control group ${path}`),
      ...linksOf(key).map((link) => `${name}: network link ${link}`),
    ]),
  ];
}
