/** Reasons are data: a code that programs decide by, a text that people read, and the facts it is made from. */
import { withoutPlaces } from "./places.ts";
import type { Facts } from "./reasons/entry.ts";
import { jobReasons } from "./reasons/jobs.ts";
import { placeReasons } from "./reasons/places.ts";
import { podReasons } from "./reasons/pods.ts";
import { programReasons } from "./reasons/programs.ts";
import { refusalReasons } from "./reasons/refusals.ts";
import { startReasons } from "./reasons/starts.ts";
import { waitReasons, workerReasons } from "./reasons/workers.ts";

/** Of a record that an older release wrote, which kept the text alone. */
const older = {
  unspecified: {
    means: "An older release recorded the reason, as a text without a code.",
    remedy: "Read the text.",
  },
} as const;

export const reasonTables = {
  "Places and limits": placeReasons,
  Programs: programReasons,
  Starts: startReasons,
  "Jobs that wait": waitReasons,
  "Jobs that were ended": jobReasons,
  Workers: workerReasons,
  Pods: podReasons,
  Refusals: refusalReasons,
  "Older records": older,
} as const;

const ofJobs = { ...waitReasons, ...jobReasons };
const worded = { ...placeReasons, ...programReasons, ...ofJobs, ...workerReasons, ...podReasons };
const catalogue = { ...worded, ...startReasons, ...refusalReasons, ...older };

export type ReasonCode = keyof typeof catalogue;
type Worded = typeof worded;
export type WordedCode = keyof Worded;
type FactsOf<C extends WordedCode> = OrNone<Parameters<Worded[C]["text"]>[0]>;
type OrNone<F> = [F] extends [never] ? Record<never, never> : F;
/** The facts that cannot be left out. */
type Needed<F> = { [K in keyof F]-?: Record<never, never> extends Pick<F, K> ? never : K }[keyof F];

export type Reason = {
  code: ReasonCode;
  /** In words for people. */
  text: string;
  facts?: Facts;
  /** The same without what a program said, where the text has that: it belongs to its account, and may hold its secrets. */
  plain?: string;
};

/** Whatever is told: no reason grows beyond it. */
const LONGEST_TEXT = 4000;
const LONGEST_FACT = 1000;

/**
 * The reason with this code, in the words of the catalogue. `about` is the reason behind it, or, as a string, the words of a
 * program, which only its account reads.
 */
export function because<C extends WordedCode>(
  code: C,
  ...[facts, about]: [Needed<FactsOf<C>>] extends [never]
    ? [facts?: FactsOf<C>, about?: Reason | string]
    : [facts: FactsOf<C>, about?: Reason | string]
): Reason {
  const text = worded[code].text as (facts: Facts, about: string | undefined) => string;
  const given = (facts ?? {}) as Facts;
  const words = (said: string | undefined) => text(given, said).slice(0, LONGEST_TEXT);
  const whole = words(typeof about === "string" ? about : about?.text);
  const plain = about === undefined ? undefined : words(typeof about === "string" ? undefined : plainText(about));
  return reasonOf(code, whole, given, plain);
}

/** A reason in the words of its maker, for codes that the catalogue has no words for. */
export const saying = (code: ReasonCode, text: string, facts?: Facts): Reason => reasonOf(code, text, facts);

/** The same reason in a longer sentence. */
export function reworded({ code, text, facts, plain }: Reason, how: (text: string) => string): Reason {
  return reasonOf(code, how(text), facts, plain === undefined ? undefined : how(plain));
}

/** The same reason, followed by what a program said. */
export function adding(reason: Reason, words: string): Reason {
  return reasonOf(reason.code, `${reason.text}${words}`, reason.facts, plainText(reason));
}

/** Several at once: one sentence after the other, and the code of the one that says most. */
export function together(reasons: readonly Reason[], leading: Reason): Reason {
  const text = reasons.map((one) => one.text).join("; ");
  return reasonOf(leading.code, text, leading.facts, reasons.map(plainText).join("; "));
}

/** What may be told to others than its account. */
export const plainText = ({ text, plain }: Reason): string => plain ?? text;

export const isSameReason = (one: Reason | null | undefined, other: Reason | null | undefined): boolean =>
  one?.code === other?.code && one?.text === other?.text;

/** A reason as an older release kept it. Its program may have spoken in it. */
const fromText = (text: string): Reason => reasonOf("unspecified", text, {}, "recorded by an older release");

/** What a record holds, be it of an older release. */
export const upcastReason = (kept: unknown): Reason | null =>
  typeof kept === "string" ? fromText(kept) : ((kept ?? null) as Reason | null);

/** As accounts may see it, whoever recorded it and when: without the places of the server's own files. */
export function withPlacesHidden<R extends Reason | null | undefined>(reason: R): R {
  return (reason && reasonOf(reason.code, reason.text, reason.facts, reason.plain)) as R;
}

/** What sets a reason apart from the one before it: seconds that pass and bytes that come are no news. */
export function newsIn({ code, facts = {} }: Reason): string {
  const { seconds: _, bytes: _bytes, progress: _progress, ...others } = facts;
  return JSON.stringify([code, others]);
}

/** The reason of a start that failed. What nobody foresaw, or what is no reason of a start, is a failed boot. */
export function startReason(code: unknown, text: string): Reason {
  const isKnown = typeof code === "string" && Object.hasOwn(startReasons, code);
  return reasonOf(isKnown ? (code as ReasonCode) : "boot-failed", text);
}

export const isReasonCode = (code: string): code is ReasonCode => Object.hasOwn(catalogue, code);

/** Whether there never was a program that could have failed. */
export const isStartReason = ({ code }: Reason): boolean => Object.hasOwn(startReasons, code);

function reasonOf(code: ReasonCode, text: string, facts: Facts = {}, plain?: string): Reason {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined);
  const bounded = known.map(([name, value]) => [
    name,
    typeof value === "string" ? withoutPlaces(value).slice(0, LONGEST_FACT) : value,
  ]);
  return {
    code,
    text: withoutPlaces(text).slice(0, LONGEST_TEXT),
    ...(known.length > 0 && { facts: Object.fromEntries(bounded) }),
    ...(plain !== undefined && plain !== text && { plain: withoutPlaces(plain).slice(0, LONGEST_TEXT) }),
  };
}
