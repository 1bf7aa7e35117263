/** The node link opens only to nodes of the installation, for one request, and leads no further. */
import { expect, test } from "vitest";
import { type NodeWorld, setupNodes } from "../../../tests/node-world.ts";
import { call } from "../../../tests/world.ts";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { NodePasses, PASS_HEADER, PASS_MS } from "./pass.ts";

const PATH = "/nodes/first/instances/w/log/of/e?from=1";

const key = (seed: number) => new SeededRandom(seed).bytes(32);

/** The passes of a node that has these master keys, newest first. */
function node(clock: FakeClock, seed: number, ...keys: Uint8Array[]): NodePasses {
  const random = new SeededRandom(seed);
  return new NodePasses({ clock, random, vault: new EnvelopeVault(keys, random) });
}

test("a pass opens the one request that it was made for, once", () => {
  const clock = new FakeClock();
  const [a, b] = [node(clock, 1, key(9)), node(clock, 2, key(9))];
  const pass = a.issue("GET", PATH);
  expect(() => b.check("POST", PATH, pass)).toThrow("not valid");
  expect(() => b.check("GET", `${PATH}0`, pass)).toThrow("not valid");
  expect(() => b.check("GET", PATH.replace("/w/", "/x/"), pass)).toThrow("not valid");
  b.check("GET", PATH, pass);
  expect(() => b.check("GET", PATH, pass)).toThrow("used already");
});

test("a pass is worth nothing after its time, and tells a node of the installation that the clocks differ", async () => {
  const clock = new FakeClock();
  const [a, b] = [node(clock, 1, key(9)), node(clock, 2, key(9))];
  const [early, late] = [a.issue("GET", PATH), a.issue("GET", PATH)];
  await clock.advance(PASS_MS);
  b.check("GET", PATH, early);
  await clock.advance(1);
  expect(() => b.check("GET", PATH, late)).toThrow("30 s off: the clocks of the nodes must agree within 30 s");
});

test("its time, its signature and its number cannot be changed or left out", () => {
  const clock = new FakeClock();
  const [a, b] = [node(clock, 1, key(9)), node(clock, 2, key(9))];
  const [time, nonce, signature] = a.issue("GET", PATH).split(".") as [string, string, string];
  const other = a.issue("GET", PATH).split(".")[1]!;
  const forged = [
    `${Number(time) + 1}.${nonce}.${signature}`,
    `${time}.${other}.${signature}`,
    `${time}.${nonce}.${signature.toLowerCase()}`,
    `${time}.${nonce}.`,
    `${time}.${nonce}.${",".repeat(50)}`,
    "",
    "undefined.undefined.undefined",
    `${time}.${nonce}`,
  ];
  for (const pass of forged) expect(() => b.check("GET", PATH, pass), pass).toThrow("not valid");
});

test("while master keys are rotated, nodes before and after the change understand each other", () => {
  const clock = new FakeClock();
  const before = node(clock, 1, key(1));
  const between = node(clock, 2, key(2), key(1));
  const after = node(clock, 3, key(2));
  for (const [from, to] of [
    [before, between],
    [between, before],
    [between, after],
    [after, between],
  ] as const)
    to.check("GET", PATH, from.issue("GET", PATH));
  expect(() => after.check("GET", PATH, before.issue("GET", PATH))).toThrow("not valid");
});

/** Makes a pass as the second node would. */
function passFor({ second }: NodeWorld, path: string): string {
  const vault = new EnvelopeVault([key(1)], second.random);
  return new NodePasses({ clock: second.clock, random: second.random, vault }).issue("GET", path);
}

async function setup() {
  const nodes = await setupNodes();
  const { text: worker } = await nodes.ask();
  const of = (machine: string, what: string) => `/nodes/${machine}/instances/${worker}/${what}/of/${nodes.endpoint}`;
  return { nodes, worker, of };
}

/** Asks for a connection to a worker, and returns everything that arrives until the server closes. */
function upgrade(url: string, path: string, headers: Record<string, string>, ask: (text: string) => Promise<string>) {
  const lines = Object.entries({
    host: new URL(url).host,
    connection: "Upgrade",
    upgrade: "millrace-worker",
    ...headers,
  });
  return ask(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
}

test("without a pass the node link is a path that is not there, whatever key is shown", async () => {
  const { nodes, of } = await setup();
  await using _ = nodes;
  for (const what of ["log", "connection"]) {
    for (const key of [nodes.first.key, await nodes.first.newKey(), null]) {
      const { status, json } = await nodes.first.call("GET", of("first", what), { key });
      const unknown = await nodes.first.call("GET", "/nothing/here", { key });
      expect([status, json]).toEqual([unknown.status, unknown.json]);
    }
  }
  const authorization = `Bearer ${nodes.first.key}`;
  const answer = await upgrade(
    nodes.first.url,
    of("first", "connection"),
    { authorization, connection: "close" },
    nodes.first.raw,
  );
  expect(answer).toMatch(/^HTTP\/1.1 404/);
});

test("where only workers ask, the node link is a path that is not there, also with a pass", async () => {
  const { nodes, of } = await setup();
  await using _ = nodes;
  const link = `http://127.0.0.1:${await nodes.first.app.workerLink.open("127.0.0.1", 0)}`;
  const path = of("first", "log");
  const ask = (path: string) =>
    call(link, "GET", path, { key: nodes.first.key, headers: { [PASS_HEADER]: passFor(nodes, path) } });
  const [log, unknown] = [await ask(path), await ask("/nothing/here")];
  expect([log.status, log.json]).toEqual([404, unknown.json]);
});

test("with a pass that is not valid it is 401, also beside a key that may do everything", async () => {
  const { nodes, of } = await setup();
  await using _ = nodes;
  const headers = { [PASS_HEADER]: passFor(nodes, of("first", "connection")) };
  const log = await nodes.first.call("GET", of("first", "log"), { headers });
  expect([log.status, log.json.detail]).toEqual([401, "the node's pass is not valid"]);
  const forged = { [PASS_HEADER]: "1.AAAAAAAAAAAAAAAA.AAAA", authorization: `Bearer ${nodes.first.key}` };
  const answer = await upgrade(nodes.first.url, of("first", "connection"), forged, nodes.first.raw);
  expect(answer).toMatch(/^HTTP\/1.1 401/);
});

test("a request is passed on once: whoever asks a node for what is not on its machine is told so", async () => {
  const { nodes, worker, of } = await setup();
  await using _ = nodes;
  const ask = (path: string) =>
    upgrade(nodes.second.url, path, { [PASS_HEADER]: passFor(nodes, path) }, nodes.second.raw);
  const wrongNode = await ask(of("first", "connection"));
  expect(wrongNode).toMatch(/^HTTP\/1.1 404/);
  expect(wrongNode).toContain("this is node second, and a request is passed on only once");
  const wrongMachine = await ask(of("second", "connection"));
  expect(wrongMachine).toContain(`worker ${worker} is not here, and a request is passed on only once`);
  const path = of("second", "log");
  const log = await nodes.second.call("GET", path, { key: null, headers: { [PASS_HEADER]: passFor(nodes, path) } });
  expect([log.status, log.json.detail]).toEqual([404, "worker not found"]);
});

test("a log is asked for from somewhere: what says not from where is refused, and is no fault", async () => {
  const { nodes, of } = await setup();
  await using _ = nodes;
  const odd = ["", "{", "null", "[]", "5", "{}", '{"from":null}', '{"from":{}}', '{"from":{"tail":"x"}}'];
  const source = '{"from":{"tail":1},"source":"nobody"}';
  for (const from of [...odd, '{"from":{"after":{}}}', '{"from":{"tail":-1}}', source, undefined]) {
    const path = of("first", "log") + (from === undefined ? "" : `?from=${encodeURIComponent(from)}`);
    const { status } = await nodes.first.call("GET", path, { headers: { [PASS_HEADER]: passFor(nodes, path) } });
    expect([400, 422], from).toContain(status);
  }
  expect(nodes.first.logged.filter((line) => line.includes("fault"))).toEqual([]);
});

test("a worker is reached under its own endpoint alone", async () => {
  const { nodes, of } = await setup();
  await using _ = nodes;
  const path = of("first", "connection").replace(nodes.endpoint, "zzzzzzzzzzzzzz");
  const answer = await upgrade(nodes.first.url, path, { [PASS_HEADER]: passFor(nodes, path) }, nodes.first.raw);
  expect(answer).toMatch(/^HTTP\/1.1 404/);
});

test("a server that is all there is has no node link", async () => {
  const { setup } = await import("../../../tests/world.ts");
  await using world = await setup();
  const path = "/nodes/machine/instances/w/log/of/e";
  const vault = new EnvelopeVault([key(1)], world.random);
  const pass = new NodePasses({ ...world, vault }).issue("GET", path);
  expect((await world.call("GET", path, { headers: { [PASS_HEADER]: pass } })).status).toBe(404);
});

test("a stranger's requests to the endpoint end at the node that they came to", async () => {
  const { nodes, worker } = await setup();
  await using _ = nodes;
  const key = await nodes.second.strangersKey();
  const headers = { "X-Runpod-Worker-Id": `strict ${worker}` };
  const before = nodes.first.app.balancer.occupations(nodes.endpoint).get(worker)!.inFlight;
  expect((await nodes.ask("/quick", { key, headers })).status).toBe(404);
  expect(nodes.first.app.balancer.occupations(nodes.endpoint).get(worker)!.inFlight).toBe(before);
});
