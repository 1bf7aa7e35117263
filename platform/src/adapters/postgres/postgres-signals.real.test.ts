/** The PostgreSQL signals keep the port's promises, and put little load on the database. */
import { Client } from "pg";
import { expect, test } from "vitest";
import { cuttableProxy } from "../../../tests/cuttable-proxy.ts";
import { freshDatabase } from "../../../tests/database.ts";
import { FakeClock, realClock, turn } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { listener, signalsConformance } from "../../ports/signals/signals.conformance.ts";
import { PostgresSignals } from "./postgres-signals.ts";

const open = (url: string, clock = realClock) => PostgresSignals.open(url, { clock, random: realRandom });

signalsConformance("PostgresSignals", async () => {
  const database = await freshDatabase();
  const signals = await open(database.url);
  return {
    signals,
    another: () => open(database.url),
    async [Symbol.asyncDispose]() {
      await signals[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
});

/** A node on a clock that stands still, and the messages that it sends. */
async function setup() {
  const database = await freshDatabase();
  const clock = new FakeClock();
  const messages: string[] = [];
  // It looks like another node.
  const spy = new Client({ connectionString: database.url, application_name: "millrace signals" });
  await spy.connect();
  await spy.query("LISTEN millrace_signals");
  let wake = () => {};
  spy.on("notification", ({ payload }) => {
    if (payload!.endsWith('"topics":[]}')) return;
    messages.push(payload!);
    wake();
  });
  const signals = await PostgresSignals.open(database.url, { clock, random: realRandom });
  return {
    ...{ database, clock, signals, messages },
    async received(count: number): Promise<void> {
      while (messages.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    /** Resolves when everything that was sent earlier has arrived. */
    async settled(): Promise<void> {
      await spy.query("SELECT 1");
    },
    async [Symbol.asyncDispose]() {
      await signals[Symbol.asyncDispose]();
      await spy.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

test("what a few milliseconds bring goes out as one message, each topic once, and more of it right after another message", async () => {
  await using world = await setup();
  for (let i = 0; i < 100; i++) world.signals.emit("work:a");
  world.signals.emit("ended:j1");
  await world.settled();
  expect(world.messages).toEqual([]);
  await world.clock.advance(3);
  await world.received(1);
  world.signals.emit("work:a", 4);
  await world.clock.advance(9);
  world.signals.emit("work:a", 3);
  await world.settled();
  expect(world.messages).toHaveLength(1);
  await world.clock.advance(1);
  await world.received(2);
  expect(world.messages.map((text) => JSON.parse(text).topics)).toEqual([
    [
      ["work:a", 100],
      ["ended:j1", 1],
    ],
    [["work:a", 7]],
  ]);
  // The only timer left is the next check of the connection.
  expect(world.clock.waiting).toBe(1);
});

test("more topics than one message holds are split, and all arrive", async () => {
  await using world = await setup();
  await using other = await open(world.database.url);
  const topics = Array.from({ length: 1_000 }, (_, i) => `ended:job-ü-${i}` as const);
  const listeners = topics.map((topic) => listener(other, topic));
  for (const topic of topics) world.signals.emit(topic);
  await world.clock.advance(3);
  await Promise.all(listeners.map((each) => each.total(1)));
  expect(listeners.every(({ heard }) => heard.length === 1 && heard[0] === 1)).toBe(true);
  await world.received(2);
  await world.settled();
  expect(world.messages.every((text) => Buffer.byteLength(text) < 8_000)).toBe(true);
});

test("a node hears its own signals once, without the database", async () => {
  await using world = await setup();
  const own = listener(world.signals, "work:a");
  world.signals.emit("work:a");
  expect(own.heard).toEqual([1]);
  await world.clock.advance(3);
  await world.received(1);
  await world.settled();
  expect(own.heard).toEqual([1]);
});

test("what others say on the channel is not heard, and what nodes say after it is", async () => {
  await using world = await setup();
  const here = listener(world.signals, "work:a");
  const foreign = ["", "hello", "null", "[]", '{"topics":5}', '{"topics":[null]}', '{"topics":[["work:a","x"],[5,1]]}'];
  const stranger = new Client({ connectionString: world.database.url });
  await stranger.connect();
  for (const payload of foreign) await stranger.query("SELECT pg_notify('millrace_signals', $1)", [payload]);
  await stranger.query("SELECT pg_notify('millrace_signals', $1)", ['{"from":"other","topics":[["work:a",2]]}']);
  await stranger.end();
  await here.total(2);
  expect(here.heard).toEqual([2]);
});

/** So many turns of the event loop, in which a busy database answers, pass with a few milliseconds of the fake clock. */
const TURNS_A_TICK = 200;

test("a node that is alone sends nothing, and one that joins it hears all that was signalled in the moment before", async () => {
  await using database = await freshDatabase();
  const clock = new FakeClock();
  await using alone = await PostgresSignals.open(database.url, { clock, random: realRandom });
  const spy = new Client({ connectionString: database.url });
  await spy.connect();
  const sent: string[] = [];
  spy.on("notification", ({ payload }) => sent.push(payload!));
  await spy.query("LISTEN millrace_signals");
  alone.emit("work:for-nobody");
  await clock.advance(250);
  await spy.query("SELECT 1");
  expect(sent).toEqual([]);
  await spy.end();
  alone.emit("work:a", 2);
  await using other = await open(database.url);
  const there = listener(other, "work:a");
  alone.emit("work:a", 3);
  // Time passes slowly: a node that hears of the other one too late would forget its signals.
  for (let turns = 1; there.heard.length === 0; turns++) {
    if (turns % TURNS_A_TICK === 0) await clock.advance(3);
    await turn();
  }
  expect(there.heard).toEqual([5]);
});

test("a node that is left is alone again after a look", async () => {
  await using database = await freshDatabase();
  const clock = new FakeClock();
  const other = await open(database.url);
  await using left = await PostgresSignals.open(database.url, { clock, random: realRandom });
  const spy = new Client({ connectionString: database.url });
  await spy.connect();
  let sent = 0;
  spy.on("notification", () => sent++);
  await spy.query("LISTEN millrace_signals");
  const sends = async () => {
    sent = 0;
    left.emit("work:a");
    await clock.advance(10);
    for (let i = 0; i < 5; i++) await spy.query("SELECT 1");
    return sent > 0;
  };
  while (!(await sends()));
  await other[Symbol.asyncDispose]();
  await clock.advance(10_000);
  // A busy database may take in one signal so late that it looks like silence.
  for (let silent = 0; silent < 4; silent++) if (await sends()) silent = -1;
  await spy.end();
});

test("what is still gathered goes out when the node closes", async () => {
  await using world = await setup();
  const closing = await PostgresSignals.open(world.database.url, { clock: new FakeClock(), random: realRandom });
  closing.emit("ended:last");
  await closing[Symbol.asyncDispose]();
  await world.received(1);
  expect(JSON.parse(world.messages[0]!).topics).toEqual([["ended:last", 1]]);
});

test("after an outage signals flow again, and everyone who listened has a reason to look", async () => {
  await using database = await freshDatabase();
  await using proxy = await cuttableProxy(database.url);
  await using here = await open(proxy.url);
  await using there = await open(database.url);
  const missed = listener(here, "work:missed");
  const sent = listener(there, "ended:sent-meanwhile");
  await proxy.cut();
  there.emit("work:missed");
  here.emit("ended:sent-meanwhile");
  await proxy.mend();
  await missed.total(1);
  await sent.total(1);
  const again = listener(here, "chunk:again");
  there.emit("chunk:again", 2);
  await again.total(2);
});

test("a server that cannot be reached at the start is an error", async () => {
  await expect(open("postgres://user:hidden@127.0.0.1:1/none")).rejects.toMatchObject({ code: "unavailable" });
});
