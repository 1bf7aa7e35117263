/** A span: an instance in one phase on one place at one price, from a moment to a moment. Nothing is paid but by spans. */
import type { Kept } from "../kernel/document.ts";
import type { InstanceKind } from "../ports/compute/compute.ts";

/** An instance whose program runs is paid for; one that is frozen is free. */
export type Phase = "running" | "frozen";

/** What an instance has, as it is paid for. */
export type Having = {
  gpuType: string | null;
  gpuCount: number;
  /** The CPU flavor; null with a GPU. */
  flavor: string | null;
  vcpu: number;
  memoryMb: number;
  diskGb: number;
};

/** What is metered of an instance, and where its spans stand. */
export type Meterable = Having & {
  kind: InstanceKind;
  /** The endpoint or Pod that it runs for. */
  owner: string;
  /** The cluster whose member that Pod is: it is paid for with that alone. */
  cluster?: string;
  image: string;
  /** The template that its owner was made from. */
  template?: string | null;
  dataCenter: string | null;
  /** When its program was started. */
  startedAt: number | null;
  /** The span that is open now, and since when; absent while nothing of it is metered. */
  span?: { phase: Phase; from: number } | null;
  /** How many spans were begun for it; the open one is the last of them. */
  spans?: number;
};

/** Each in 1e-9 USD per hour. */
export type Price = { gpu: number; cpu: number; disk: number };

export type KeptSpan = Having & {
  instance: string;
  kind: InstanceKind;
  /** The endpoint, Pod or cluster that pays for it. */
  owner: string;
  phase: Phase;
  dataCenter: string | null;
  image: string;
  template: string | null;
  /** As it was when the span began. */
  price: Price;
  from: number;
  /** Null while it is open. */
  to: number | null;
  /** Why nothing is paid for it; absent when it is paid for. */
  free?: string;
};

export const spans: Kept<KeptSpan> = {
  kind: "span",
  v: 1,
  listed: ({ instance, owner }) => ({ instance, owner }),
};

/** Known before it is written, so that the same span is never begun twice. */
export const spanId = (instance: string, number: number) => `${instance}.${number}`;
