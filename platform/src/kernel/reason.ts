/** Reasons are data: a code by which programs decide, a text that people read, and the facts that it is made from. */
import { withoutPlaces } from "./places.ts";
import type { Facts } from "./reasons/entry.ts";
import { jobReasons } from "./reasons/jobs.ts";
import { placeReasons } from "./reasons/places.ts";
import { podReasons } from "./reasons/pods.ts";
import { programReasons } from "./reasons/programs.ts";
import { refusalReasons } from "./reasons/refusals.ts";
import { startReasons } from "./reasons/starts.ts";
import { waitReasons, workerReasons } from "./reasons/workers.ts";

/** The reason in a record of an older release, which kept only the text. */
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
/** The names of the facts that are required. */
type Needed<F> = { [K in keyof F]-?: Record<never, never> extends Pick<F, K> ? never : K }[keyof F];

export type Reason = {
  code: ReasonCode;
  /** The reason in words for people. */
  text: string;
  facts?: Facts;
  /**
   * The text without what a program said, present only if the two differ. Those words belong to the program's account and may hold secrets.
   */
  plain?: string;
};

/** No reason is longer than this, whatever it quotes. */
const LONGEST_TEXT = 4000;
const LONGEST_FACT = 1000;

/**
 * Makes the reason with this code, in the words of the catalogue. `about` is the reason behind it or, as a string, the words of a program,
 * which only its account may read.
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

/** Makes a reason in the caller's own words, for codes that have no words in the catalogue. */
export const saying = (code: ReasonCode, text: string, facts?: Facts): Reason => reasonOf(code, text, facts);

/** Returns the same reason in a longer sentence. */
export function reworded({ code, text, facts, plain }: Reason, how: (text: string) => string): Reason {
  return reasonOf(code, how(text), facts, plain === undefined ? undefined : how(plain));
}

/** Returns the same reason, followed by what a program said. */
export function adding(reason: Reason, words: string): Reason {
  return reasonOf(reason.code, `${reason.text}${words}`, reason.facts, plainText(reason));
}

/** Joins several reasons into one text. The code and the facts are those of `leading`. */
export function together(reasons: readonly Reason[], leading: Reason): Reason {
  const text = reasons.map((one) => one.text).join("; ");
  return reasonOf(leading.code, text, leading.facts, reasons.map(plainText).join("; "));
}

/** What the code means in general, without anything about the case. */
export const meaningOf = (code: ReasonCode): string => catalogue[code].means;

/** Returns the text that others than the account may see. */
export const plainText = ({ text, plain }: Reason): string => plain ?? text;

export const isSameReason = (one: Reason | null | undefined, other: Reason | null | undefined): boolean =>
  one?.code === other?.code && one?.text === other?.text;

/** Makes a reason from the text that an older release kept. The text may quote a program, so others do not see it. */
const fromText = (text: string): Reason => reasonOf("unspecified", text, {}, "recorded by an older release");

/** Reads the reason in a record, also in one of an older release. */
export const upcastReason = (kept: unknown): Reason | null =>
  typeof kept === "string" ? fromText(kept) : ((kept ?? null) as Reason | null);

/** Returns the reason as accounts may see it: without paths of the server's own files, whichever release recorded it. */
export function withPlacesHidden<R extends Reason | null | undefined>(reason: R): R {
  return (reason && reasonOf(reason.code, reason.text, reason.facts, reason.plain)) as R;
}

/** Returns a key that changes when a reason has news. More seconds or more bytes are no news. */
export function newsIn({ code, facts = {} }: Reason): string {
  const { seconds: _, bytes: _bytes, progress: _progress, ...others } = facts;
  return JSON.stringify([code, others]);
}

/** Makes the reason of a failed start. A code that is not among the reasons of starts becomes "boot-failed". */
export function startReason(code: unknown, text: string): Reason {
  const isKnown = typeof code === "string" && Object.hasOwn(startReasons, code);
  return reasonOf(isKnown ? (code as ReasonCode) : "boot-failed", text);
}

export const isReasonCode = (code: string): code is ReasonCode => Object.hasOwn(catalogue, code);

/** True for a reason of a start: there was no program yet that could have failed. */
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
