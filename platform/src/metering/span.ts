/** A span: an instance in one phase at one place, or storage of one size, at one price, for a period. Every charge comes from spans. */
import type { Cloud, VolumeType } from "../catalog/words.ts";
import { monthOf, monthsEntered } from "../kernel/calendar.ts";
import type { Document, Kept } from "../kernel/document.ts";
import type { Metering, Phase, Price } from "../kernel/metered.ts";
import type { InstanceKind } from "../ports/compute/compute.ts";

export type { Metering, OpenSpan, Phase, Price } from "../kernel/metered.ts";

/** What is charged: instances with their disks, and network volumes. */
export type SpanKind = InstanceKind | "volume";

/** The resources of an instance or of storage, as far as they are charged. */
export type Having = {
  gpuType: string | null;
  gpuCount: number;
  /** The CPU flavor, or null with a GPU. */
  flavor: string | null;
  vcpu: number;
  memoryMb: number;
  /** The size of a container's disk or of a network volume. */
  diskGb: number;
  /** The size of a Pod's persistent mount. */
  persistentGb?: number;
  /** The tier of a network volume. */
  tier?: VolumeType;
  /** The cloud in which a Pod was requested. The default is the secure one. */
  cloud?: Cloud;
  /** What a Pod that gives way bids per GPU and hour, or 0 if it bids nothing. Absent if it does not give way. */
  yields?: { bid: number };
};

/** What is charged for a record. */
export type Payable = Having & {
  /** The instance, or the Pod or network volume that owns the storage. */
  instance: string;
  kind: SpanKind;
  /** The endpoint, Pod, cluster or network volume that is billed. */
  owner: string;
  /** The API key that created the owner, if known. */
  createdBy: string | null;
  phase: Phase;
  dataCenter: string | null;
  image: string;
  /** The template from which the owner was made. */
  template: string | null;
};

/** The metered fields of an instance. */
export type Meterable = Metering &
  Having & {
    kind: InstanceKind;
    /** The disk of a worker's container, which no machine reserves in advance. */
    containerGb?: number;
    /** The endpoint or Pod that the instance runs for. */
    owner: string;
    /** The cluster that this Pod is a member of. It is billed only with the cluster. */
    cluster?: string;
    /** The API key that created the owner, if known. */
    createdBy?: string | null;
    image: string;
    /** The template from which the owner was made. */
    template?: string | null;
    dataCenter: string | null;
    /** When the instance's program was started. */
    startedAt: number | null;
  };

export type KeptSpan = Payable & {
  /** The price when the span began. */
  price: Price;
  from: number;
  /** Null while the span is open. */
  to: number | null;
  /** Why the span is free of charge. Absent if it is charged. */
  free?: string;
};

/** All spans of an account. */
export const WHOLE = "*";

/** Scopes select spans by the keys below: all of an account, those of an owner, or those that an API key caused. */
export const ofOwner = (owner: string) => `of ${owner}`;
export const byKey = (key: string) => `by ${key}`;

/**
 * Spans are found within each scope by when they began, which is their record's creation time. A span that began in an earlier month is
 * found among the open ones, or by the months it reached into. So a reader reads at most one month that it does not need.
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

/** The id is known before the span is written, so that the same span is never begun twice. */
export const spanId = (instance: string, number: number) => `${instance}.${number}`;
