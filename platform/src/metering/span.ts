/** A span: an instance in one phase on one place, or storage of one size, at one price, from a moment to a moment. Nothing is paid but by spans. */
import type { Cloud, VolumeType } from "../catalog/words.ts";
import { monthOf, monthsEntered } from "../kernel/calendar.ts";
import type { Document, Kept } from "../kernel/document.ts";
import type { Metering, Phase, Price } from "../kernel/metered.ts";
import type { InstanceKind } from "../ports/compute/compute.ts";

export type { Metering, OpenSpan, Phase, Price } from "../kernel/metered.ts";

/** What is paid for: what runs, with its disks, and network volumes. */
export type SpanKind = InstanceKind | "volume";

/** What there is of an instance or of storage, as it is paid for. */
export type Having = {
  gpuType: string | null;
  gpuCount: number;
  /** The CPU flavor; null with a GPU. */
  flavor: string | null;
  vcpu: number;
  memoryMb: number;
  /** Of a container, or of a network volume. */
  diskGb: number;
  /** Of a Pod's persistent mount. */
  persistentGb?: number;
  /** Of a network volume. */
  tier?: VolumeType;
  /** In which a Pod was asked for; the secure one where nothing is said. */
  cloud?: Cloud;
  /** What a Pod that gives way to others bids for each GPU by the hour; 0 where it bids nothing. Absent for one that does not give way. */
  yields?: { bid: number };
};

/** What is paid for of something on record. */
export type Payable = Having & {
  /** The instance, or the Pod or network volume whose storage it is. */
  instance: string;
  kind: SpanKind;
  /** The endpoint, Pod, cluster or network volume that is billed. */
  owner: string;
  /** The API key by which the owner was made, as far as it is known. */
  createdBy: string | null;
  phase: Phase;
  dataCenter: string | null;
  image: string;
  /** The template that its owner was made from. */
  template: string | null;
};

/** What is metered of an instance. */
export type Meterable = Metering &
  Having & {
    kind: InstanceKind;
    /** The disk of a worker's container, which no machine keeps for it beforehand. */
    containerGb?: number;
    /** The endpoint or Pod that it runs for. */
    owner: string;
    /** The cluster whose member that Pod is: it is paid for with that alone. */
    cluster?: string;
    /** The API key by which that was made, as far as it is known. */
    createdBy?: string | null;
    image: string;
    /** The template that its owner was made from. */
    template?: string | null;
    dataCenter: string | null;
    /** When its program was started. */
    startedAt: number | null;
  };

export type KeptSpan = Payable & {
  /** As it was when the span began. */
  price: Price;
  from: number;
  /** Null while it is open. */
  to: number | null;
  /** Why nothing is paid for it; absent when it is paid for. */
  free?: string;
};

/** Everything of an account. */
export const WHOLE = "*";

/** Whose spans are meant, by the values of the keys below: all of an account, those of an owner, or those that an API key caused. */
export const ofOwner = (owner: string) => `of ${owner}`;
export const byKey = (key: string) => `by ${key}`;

/**
 * Found by the time at which they began, which is that of their record, within each scope. One that began in an earlier month is found among
 * those that are open, or by the months that it went on into: no reader looks at more than one month that it does not need.
 */
export const spans: Kept<KeptSpan> = {
  kind: "span",
  v: 2,
  upcasts: { 1: (old: Document) => ({ ...old, createdBy: null, price: { ...(old.price as object), storage: 0 } }) },
  listed: (span) => {
    const scopes = scopesOf(span);
    const entered = span.to === null ? [] : monthsEntered(span.from, span.to).map(monthOf);
    return {
      instance: span.instance,
      scope: scopes,
      open: span.to === null ? [WHOLE, ...scopes] : undefined,
      into: entered.flatMap((month) => [WHOLE, ...scopes].map((scope) => intoMonth(month, scope))),
    };
  },
  keysVersion: 2,
};

const scopesOf = ({ owner, createdBy }: Payable): string[] => [
  ofOwner(owner),
  ...(createdBy === null ? [] : [byKey(createdBy)]),
];

export const intoMonth = (month: string, scope: string) => `${month} ${scope}`;

/** Known before it is written, so that the same span is never begun twice. */
export const spanId = (instance: string, number: number) => `${instance}.${number}`;
