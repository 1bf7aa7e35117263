/** Words of older surfaces for what an endpoint is: written leniently, and kept finer where the record is finer than they can say. */
import { problem } from "../../kernel/problem.ts";
import { type EndpointType, flashBootModes, type KeptEndpoint, type Scaling } from "./model.ts";

export type FlatType = "QB" | "LB";
type FlashBoot = KeptEndpoint["flashboot"];

const types: Record<EndpointType, FlatType> = { QUEUE: "QB", LOAD_BALANCER: "LB" };

export const flatTypeOf = ({ type }: Pick<KeptEndpoint, "type">): FlatType => types[type];

/** `QB` and `LB`, or our own words, in any case; nothing where nothing is said. */
export function endpointTypeFrom(word: string): EndpointType | undefined {
  const said = wordOf(word);
  if (said === "") return undefined;
  const found = Object.entries(types).find(([type, flat]) => said === type || said === flat)?.[0];
  return (found as EndpointType | undefined) ?? unknownWord("type", word, Object.values(types));
}

/** Anything but off: a record that freezes its workers in some way. */
export const isFlashBooting = ({ flashboot }: Pick<KeptEndpoint, "flashboot">): boolean => flashboot !== "OFF";

/** A yes or no, or the mode by its name. A yes to one that freezes its workers already leaves the way in which it does. */
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

/** The number of either way of scaling. */
export const scalerValueOf = (scaling: Scaling): number =>
  scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount;

/** As a whole number, which is all that older clients read: a part of a second is a second to them. */
export const wholeScalerValueOf = ({ scaling }: Pick<KeptEndpoint, "scaling">): number =>
  Math.ceil(scalerValueOf(scaling));

const wordOf = (text: string) => text.trim().toUpperCase();

function unknownWord(field: string, word: string, known: readonly string[]): never {
  throw problem("rule-broken", `'${field}' is one of ${known.join(", ")}, and not '${word.slice(0, 100)}'.`);
}
