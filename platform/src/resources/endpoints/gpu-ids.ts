/** GPUs as one text, `POOL,OTHER_POOL,-A type`: pools or types in order of preference, and types to exclude from the pools. */
import { poolIds, poolOfType, typesOfPool } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import { grouped } from "./grouped.ts";

const MOST_WORDS = 200;

/** The types that a text stands for, or undefined if it names none. */
export function typesOfGpuIds(text: string): string[] | undefined {
  const words = text.split(",").map((word) => word.trim());
  const named = words.filter((word) => word !== "" && !word.startsWith("-"));
  const excluded = words.filter((word) => word.startsWith("-")).map((word) => word.slice(1).trim());
  if (words.length > MOST_WORDS)
    throw problem("rule-broken", `'gpuIds' names more than ${MOST_WORDS} pools and types.`);
  if (named.length === 0 && excluded.length === 0) return undefined;
  const offered = named.flatMap((word) => typesOfPool(word) ?? aType(word) ?? unknown(word));
  return without(excluded, offered, "gpuIds");
}

/** The offered types without the excluded ones, each once, at its first position. */
export function without(excluded: readonly string[], offered: readonly string[], field: string): string[] {
  const stray = excluded.find((type) => !offered.includes(type));
  if (stray !== undefined) throw problem("rule-broken", `'${field}' names '${stray}', which is in none of the pools.`);
  const types = [...new Set(offered)].filter((type) => !excluded.includes(type));
  if (types.length === 0) throw problem("rule-broken", `'${field}' leaves no GPU type.`);
  return types;
}

/** Writes the types as one text that keeps their order. Types of one pool in the pool's order become the pool, and others are named. */
export function gpuIdsOf(types: readonly string[]): string {
  return grouped(types, poolOfType)
    .flatMap(({ group, members }) => {
      const all = (group !== undefined && typesOfPool(group)) || [];
      const isAsPooled = all.filter((type) => members.includes(type)).join() === members.join();
      if (group === undefined || !isAsPooled) return members;
      return [group, ...all.filter((type) => !members.includes(type)).map((type) => `-${type}`)];
    })
    .join(",");
}

const aType = (word: string) => (poolOfType(word) === undefined ? undefined : [word]);

function unknown(word: string): never {
  throw problem("rule-broken", `There is no GPU pool or type '${word}'; pools are ${poolIds().join(", ")}.`);
}
