/** Lines arrive whole and exactly once, however the engine cuts them and wherever reading is interrupted. */
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../kernel/random.ts";
import { LONGEST_LINE } from "../../ports/compute/compute.ts";
import { nanoseconds } from "../docker/log-reader.ts";
import { DOCKER_PIECE_BYTES, LogLines, type Message } from "./log-lines.ts";

const OUT = 1;
const ERR = 2;
const message = (text: string, time = "1.000000000", channel = OUT): Message => ({
  channel,
  time,
  bytes: Buffer.from(text),
});
const read = (messages: Message[], after?: string, pieceBytes?: number) => {
  const lines = new LogLines(after, pieceBytes);
  return { lines: [...messages.flatMap((one) => lines.take(one)), ...lines.rest()], at: lines.at };
};

test("a line in pieces is one line, also when the other channel writes in between", () => {
  const messages = [message("thr"), message("error\n", "1.000000000", ERR), message("ee\n")];
  expect(read(messages).lines).toEqual(["error", "three"]);
});

test("a piece shorter than Docker's own is the last of its line", () => {
  const full = "x".repeat(DOCKER_PIECE_BYTES);
  expect(read([message(full), message("end"), message("next\n")], undefined, DOCKER_PIECE_BYTES).lines).toEqual([
    `${full}end`,
    "next",
  ]);
  expect(read([message(full), message(""), message("next\n")], undefined, DOCKER_PIECE_BYTES).lines).toEqual([
    full,
    "next",
  ]);
});

test("a line that is too long is cut between characters", () => {
  const euro = "€".repeat(LONGEST_LINE / 2);
  const { lines } = read([message(`${euro}\n`)]);
  expect(lines.length).toBe(2);
  expect(lines.join("")).toBe(euro);
  expect(Buffer.byteLength(lines[0]!)).toBeLessThanOrEqual(LONGEST_LINE);
});

test("what an ended program left without an end is its last line", () => {
  expect(read([message("one\n"), message("tw"), message("o")]).lines).toEqual(["one", "two"]);
});

test("a position keeps to nanoseconds, in the form that the engine takes", () => {
  expect(nanoseconds("2026-01-01T00:00:00.000000001Z")).toBe("1767225600.000000001");
  expect(nanoseconds("2026-01-01T01:00:00.5+01:00")).toBe("1767225600.500000000");
  expect(new LogLines("7.000000001/3/1").since).toBe("7.000000001");
});

describe("reading goes on without a gap or a repetition", () => {
  /** Messages on two channels, whole and in pieces, many with the same time. */
  function randomLog(random: SeededRandom): Message[] {
    let time = 1;
    return Array.from({ length: 30 }, (_, n) => {
      if (random.chance(0.3)) time += 1;
      const end = random.chance(0.6) ? "\n" : "";
      return message(`${n}${end}`, `${time}.000000000`, random.chance(0.3) ? ERR : OUT);
    });
  }

  /** The engine's answer for a position: all messages from its time on, including that time. */
  const since = (log: Message[], from: string | undefined) =>
    from === undefined ? log : log.filter(({ time }) => Number(time) >= Number(from));

  const seed = Number(process.env.MILLRACE_SEED ?? Math.floor(Math.random() * 2 ** 31));
  test(`after every message at which it can break off (seed ${seed})`, () => {
    const random = new SeededRandom(seed);
    for (let round = 0; round < 50; round++) {
      const log = randomLog(random);
      const all = read(log).lines;
      const given: string[] = [];
      let at: string | undefined;
      while (given.length < all.length) {
        const lines = new LogLines(at);
        const messages = since(log, lines.since);
        const breaksAt = random.below(messages.length + 1);
        for (const one of messages.slice(0, breaksAt)) {
          const more = lines.take(one);
          given.push(...more);
          // Callers only get a position together with lines.
          if (more.length > 0) at = lines.at;
        }
        if (breaksAt === messages.length) given.push(...lines.rest());
      }
      expect(given).toEqual(all);
    }
  });
});
