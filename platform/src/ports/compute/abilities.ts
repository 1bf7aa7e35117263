/** What drivers may be able to do in addition to running programs: each ability is a small interface with its own conformance suite. */
import type { Again } from "./again.ts";
import type { Executing } from "./execution.ts";
import type { Freezing } from "./freezing.ts";
import type { Networks } from "./groups.ts";
import type { Preparing } from "./images.ts";
import type { Link } from "./link.ts";
import type { Loopback } from "./loopback.ts";
import type { Publishing } from "./publish.ts";
import type { Metering } from "./stats.ts";
import type { Volumes } from "./volumes.ts";
import type { DiskWriters } from "./writers.ts";

/** An absent ability is one that the driver lacks, so callers need not try. */
export interface Abilities {
  /** Without it the driver fetches images itself after it accepted an instance, and reports progress there. */
  readonly preparing?: Preparing | undefined;
  readonly freezing?: Freezing | undefined;
  readonly again?: Again | undefined;
  readonly networks?: Networks | undefined;
  readonly exec?: Executing | undefined;
  /** Without it, only the ports that an instance names can be reached. */
  readonly loopback?: Loopback | undefined;
  readonly stats?: Metering | undefined;
  readonly publishing?: Publishing | undefined;
  readonly volumes?: Volumes | undefined;
  /** Without it, nothing that its instances write is on the disk of the data folder. */
  readonly writers?: DiskWriters | undefined;
  /** Without it, workers must be told by other means where they reach the server. */
  readonly link?: Link | undefined;
}

export type Ability = keyof Abilities;

/** Why abilities are missing, in words for people, as far as the driver knows. */
export type Lacks = Readonly<Partial<Record<Ability, string>>>;

const WORDS: Record<Ability, string> = {
  preparing: "this driver brings images by itself",
  freezing: "this driver cannot freeze",
  again: "this driver starts nothing again",
  networks: "this driver has no networks of their own for instances",
  exec: "this driver runs no further programs",
  loopback: "this driver reaches no loopback of instances",
  stats: "this driver cannot tell what instances use",
  publishing: "this driver publishes no ports",
  volumes: "this driver has no volumes",
  writers: "this driver's disk is not that of the data folder",
  link: "this driver's instances reach the server by other ways",
};

export const whyLacking = ({ lacks }: { readonly lacks?: Lacks | undefined }, ability: Ability): string =>
  lacks?.[ability] ?? WORDS[ability];
