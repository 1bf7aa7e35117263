/** A Pod in REST v1 as JSON text. What depends on its record and the catalog alone is written once, since clients list many Pods again and again. */
import type { Flat } from "../../kernel/flat.ts";
import { flatChanges, oncePerPod } from "./flat-view.ts";
import { wholeRecord } from "./record-v1.ts";
import type { PodItem } from "./records.ts";
import type { PodViews } from "./view.ts";

type Changes = ReturnType<typeof flatChanges>;

/** Text that lasts, with the value of a field that changes between each piece and the next. */
interface Pieces {
  pieces: string[];
  between: (keyof Changes)[];
}

/** Every field that changes has a value, so the commas around it last too. */
const CHANGING: Record<keyof Changes, true> = {
  ...{ lastStatusChange: true, costPerHr: true, adjustedCostPerHr: true, uptimeSeconds: true, runtime: true },
};

const isChanging = (name: string): name is keyof Changes => name in CHANGING;

const lastingText = oncePerPod((item, flat) => piecesOf(wholeRecord(item, flat, {})));

/** Adds the text of `podRecord` in pieces: to join the pieces of all Pods once takes a third of the time. */
export function addPodText(item: PodItem, views: PodViews, text: string[]): void {
  const { pieces, between } = lastingText(views)(item);
  const changes = flatChanges(item, views);
  text.push(pieces[0]!);
  for (let i = 0; i < between.length; i++) text.push(JSON.stringify(changes[between[i]!]), pieces[i + 1]!);
}

function piecesOf(record: Flat): Pieces {
  const pieces: string[] = [];
  const between: (keyof Changes)[] = [];
  let piece = "";
  for (const [name, value] of Object.entries(record)) {
    if (value === undefined) continue;
    piece += `${piece === "" && pieces.length === 0 ? "{" : ","}${JSON.stringify(name)}:`;
    if (isChanging(name)) {
      between.push(name);
      pieces.push(piece);
      piece = "";
    } else piece += JSON.stringify(value);
  }
  return { pieces: [...pieces, `${piece}}`].map(inOnePart), between };
}

/** The engine keeps a text that was put together as its parts, and would go through them at every use. */
const inOnePart = (text: string) => Buffer.from(text).toString();
