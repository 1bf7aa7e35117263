/** The bench's command line. */
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { CHECKED_ROWS } from "./check.ts";

const NUMBERS = [
  "1",
  "2",
  "3",
  "3b",
  "4",
  "5",
  "6",
  "7",
  "8",
  "9",
  "10",
  "11",
  "13",
  "14",
  "15",
  "16",
  "17",
  "18",
  "19",
  "20",
];
export const ALL_ROWS = [...NUMBERS, "pg", "nodes", "churn"];
/** Rows that need only Millrace itself and take minutes. */
export const OWN_ROWS = ["1", "2", "3", "3b", "9", "10", "11", "14", "15", "16", "18", "19", "20"];
/** Names for rows that are easier to remember. */
const WORDS: Record<string, string[]> = {
  lb: ["13"],
  starts: ["14"],
  pods: ["16", "17"],
  faces: ["18"],
  rest: ["19"],
  cli: ["20"],
  pg: ["8", "pg"],
};

export const HELP = `npm run bench -- [flags]
  --rows ${OWN_ROWS.join(",")}   which rows; also 4 to 7 (peers), 8 or pg (PostgreSQL; pg also for 9 to 11 where asked), 13 or lb (load balancing), 14 or starts, 16 and 17 or pods, 18 or faces, 19 or rest, 20 or cli, nodes (1, 2 and 4 on one PostgreSQL), churn, or all
  --rounds 5                rounds that count
  --seconds 3               measured time of each phase, after one second of warm-up
  --deep 1000000            jobs in the deep queue of rows 9, 10 and 11
  --fill http|direct        how the deep queue is filled: by /run, or by the queue's own code without a server (a tenth of the time)
  --minutes 10              length of the churn
  --folder DIR              where data is kept while measuring; a disk, not tmpfs
  --postgres URL            this PostgreSQL instead of one of its own
  --profile DIR             a CPU profile of the server for each phase
  --against DIR             rows 1, 2, 3, 3b and 13 beside another checkout, both servers in turns of short slices
  --slices 100              how many of them
  --budget                  where the time of rows 1, 2, 3, 3b and 13 goes (with pg, on PostgreSQL): functions, allocations and, with strace, system calls
  --check                   rows 1, 2, 3, 13 and 15 against the best kept for this kind of machine; warns below 95% of it, fails below 90%
  --keep                    with --check: keeps what is better than that
  --quick                   one short round of everything asked for, to see that it works`;

export interface Flags {
  rows: Set<string>;
  rounds: number;
  seconds: number;
  deep: number;
  fill: "http" | "direct";
  minutes: number;
  folder: string;
  postgres: string | undefined;
  profile: string | undefined;
  against: string | undefined;
  slices: number;
  budget: boolean;
  check: boolean;
  keep: boolean;
  quick: boolean;
}

export function readFlags(args: string[]): Flags | "help" {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      deep: { type: "string" },
      fill: { type: "string", default: "http" },
      minutes: { type: "string" },
      folder: { type: "string", default: tmpdir() },
      postgres: { type: "string" },
      profile: { type: "string" },
      against: { type: "string" },
      slices: { type: "string" },
      budget: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const { quick, check } = values;
  if (values.keep && !check) throw new Error(`--keep goes with --check\n\n${HELP}`);
  if (check && values.rows !== undefined) throw new Error(`--check has rows of its own\n\n${HELP}`);
  const standard = check ? CHECKED_ROWS : OWN_ROWS;
  const named = values.rows === "all" ? ALL_ROWS : (values.rows?.split(",") ?? standard);
  const rows = named.flatMap((row) => WORDS[row] ?? [row]);
  for (const row of rows) if (!ALL_ROWS.includes(row)) throw new Error(`there is no row '${row}'\n\n${HELP}`);
  const number = (text: string | undefined, standard: number, short: number) =>
    text === undefined ? (quick ? short : standard) : positive(text);
  return {
    rows: new Set(rows),
    rounds: number(values.rounds, check ? 2 : 5, 1),
    seconds: number(values.seconds, check ? 2 : 3, 1),
    deep: number(values.deep, 1_000_000, 20_000),
    fill: values.fill === "direct" ? "direct" : "http",
    minutes: number(values.minutes, 10, 1),
    folder: values.folder,
    postgres: values.postgres,
    profile: values.profile,
    against: values.against,
    budget: values.budget,
    check,
    keep: values.keep,
    slices: number(values.slices, 100, 3),
    quick,
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`'${text}' is not a number above 0`);
  return value;
}
