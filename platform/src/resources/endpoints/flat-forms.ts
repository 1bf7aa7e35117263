/** Reads and writes the words of older surfaces for an endpoint. Where the record says more than they can, a write keeps that. */
import { problem } from "../../kernel/problem.ts";
import { type EndpointType, flashBootModes, type KeptEndpoint, type Scaling } from "./model.ts";

export type FlatType = "QB" | "LB";
type FlashBoot = KeptEndpoint["flashboot"];

const types: Record<EndpointType, FlatType> = { QUEUE: "QB", LOAD_BALANCER: "LB" };

export const flatTypeOf = ({ type }: Pick<KeptEndpoint, "type">): FlatType => types[type];

/** Reads `QB` and `LB`, or our own words, in upper or lower case. Undefined for an empty text. */
export function endpointTypeFrom(word: string): EndpointType | undefined {
  const said = wordOf(word);
  if (said === "") return undefined;
  const found = Object.entries(types).find(([type, flat]) => said === type || said === flat)?.[0];
  return (found as EndpointType | undefined) ?? unknownWord("type", word, Object.values(types));
}

/** Whether workers are frozen at all, in any mode. */
export const isFlashBooting = ({ flashboot }: Pick<KeptEndpoint, "flashboot">): boolean => flashboot !== "OFF";

/** Reads true or false, or the name of a mode. True keeps the mode of an endpoint that already freezes its workers. */
export function flashBootFrom(said: boolean | string, before?: Pick<KeptEndpoint, "flashboot">): FlashBoot | undefined {
  if (said === true) return before && isFlashBooting(before) ? before.flashboot : "FLASHBOOT";
  if (said === false) return "OFF";
  const word = wordOf(said);
  if (word === "") return undefined;
  return flashBootModes.find((mode) => mode === word) ?? unknownWord("flashBootType", said, flashBootModes);
}

const scalerTypes = ["QUEUE_DELAY", "REQUEST_COUNT"] as const;

export function scalerTypeFrom(said: string): Scaling["type"] | undefined {
  const word = wordOf(said);
  if (word === "") return undefined;
  return scalerTypes.find((type) => type === word) ?? unknownWord("scalerType", said, scalerTypes);
}

/** The number that belongs to the type of scaling. */
export const scalerValueOf = (scaling: Scaling): number =>
  scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount;

/** Rounded up, since older clients only read whole numbers: they see a fraction of a second as a second. */
export const wholeScalerValueOf = ({ scaling }: Pick<KeptEndpoint, "scaling">): number =>
  Math.ceil(scalerValueOf(scaling));

const wordOf = (text: string) => text.trim().toUpperCase();

function unknownWord(field: string, word: string, known: readonly string[]): never {
  throw problem("rule-broken", `'${field}' is one of ${known.join(", ")}, and not '${word.slice(0, 100)}'.`);
}
