/** Changes a valid request: its body, path, query, headers or framing, or whose things it names. */
import type { SeededRandom } from "../../../src/kernel/random.ts";
import type { Draft, Scene } from "./draft.ts";
import { pathOf } from "./draft.ts";
import { HEADERS, JSON_ODDITIES, METHODS, NUMBERS, SEGMENTS } from "./odd-words.ts";
import type { Person } from "./population.ts";
import { changeFraming, sendRaw } from "./raw-bytes.ts";
import { type Named, thingNames } from "./routes.ts";
import { asText } from "./schema-values.ts";

interface Change {
  /** How often this change is chosen, relative to the others. */
  weight: number;
  /** Returns false when the draft has nothing of this kind to change. */
  apply(draft: Draft, scene: Scene, other: Person): boolean;
}

const MIB = 1024 * 1024;

const changes: Record<string, Change> = {
  "a value": { weight: 10, apply: changeValue },
  "two values": {
    weight: 3,
    apply: (draft, scene) => changeValue(draft, scene) && changeValue(draft, scene),
  },
  "JSON as text": { weight: 4, apply: changeJsonText },
  "a body of another kind": { weight: 2, apply: replaceBody },
  "a large body": { weight: 0.05, apply: enlargeBody },
  "a parameter of the path": { weight: 6, apply: changeParameter },
  "the path": { weight: 2, apply: changePath },
  "the query": { weight: 6, apply: changeQuery },
  "a header": { weight: 6, apply: changeHeader },
  "many headers": { weight: 0.5, apply: manyHeaders },
  "the method": { weight: 2, apply: changeMethod },
  "the key": { weight: 2, apply: changeKey },
  "somebody else's id": { weight: 5, apply: changeOwner },
  "the framing": { weight: 2, apply: changeFraming },
  "raw bytes": { weight: 1.5, apply: sendRaw },
};

const names = Object.keys(changes);
const total = names.reduce((sum, name) => sum + changes[name]!.weight, 0);

/** Changes one part of the draft. */
export function change(draft: Draft, scene: Scene, other: Person): void {
  for (;;) {
    const name = pickByWeight(scene.chance);
    if (!changes[name]!.apply(draft, scene, other)) continue;
    draft.changes.push(name);
    return;
  }
}

function pickByWeight(chance: SeededRandom): string {
  let left = chance.fraction() * total;
  for (const name of names) {
    left -= changes[name]!.weight;
    if (left < 0) return name;
  }
  return names[0]!;
}

function changeValue(draft: Draft, { values }: Scene): boolean {
  if (!draft.body || !("value" in draft.body) || !draft.route.body) return false;
  draft.body = { value: values.mutated(draft.route.body, draft.body.value) };
  return true;
}

function changeJsonText(draft: Draft, { chance }: Scene): boolean {
  if (!draft.body || !("value" in draft.body)) return false;
  const text = JSON.stringify(draft.body.value) ?? "";
  const at = chance.below(text.length + 1);
  const first = /^\{("[^"]*":)/.exec(text)?.[1];
  const ways = [
    () => text.slice(0, at),
    () => text.slice(0, at) + chance.pick(['"', "}", "]", ",", ":", "\\", "{", "[", "\0"]) + text.slice(at),
    () => (first ? `{${first}1,${text.slice(1)}` : `${text}${text}`),
    () => (first ? `${text.slice(0, -1)},${first}null}` : text.repeat(2)),
    () => text.replace(/(?<=[:[,])-?\d+(\.\d+)?/, () => chance.pick(NUMBERS)),
    () => text.replace(/:("[^"]*"|\d+|true|false|null)/, () => `:${chance.pick([...NUMBERS, ...JSON_ODDITIES])}`),
    () => `\ufeff${text}`,
    () => `${" ".repeat(1000)}${text}\n\n`,
    () => `${"[".repeat(chance.pick([999, 1001, 20_000]))}${text}`,
    () => text.replace(/"\w+":/, '"__proto__":{"a":1},$&'),
  ];
  draft.body = { text: chance.pick(ways)() };
  return true;
}

function replaceBody(draft: Draft, { chance, values }: Scene): boolean {
  const bytes = Buffer.from(Array.from({ length: chance.below(200) }, () => chance.below(256)));
  draft.body = chance.pick<NonNullable<Draft["body"]>>([
    { text: "" },
    { text: bytes },
    { text: Buffer.from([0xff, 0xfe, 0x7b, 0x7d]) },
    { text: Buffer.from('{"name":"\xed\xa0\x80"}', "latin1") },
    { text: "a=b&c=d" },
    { text: '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--' },
    { value: values.odd() },
    { value: [] },
    { text: "\n".repeat(500) },
    { text: "gone 1 {}\n".repeat(300) },
  ]);
  return true;
}

/** Sizes at the limits of the routes and just beyond them. */
function enlargeBody(draft: Draft, { chance }: Scene): boolean {
  if (!draft.body) return false;
  const bytes = chance.pick([65_535, 65_536, 65_537, MIB - 1, MIB, MIB + 1, 10 * MIB, 10 * MIB + 1]);
  const [head, tail] = draft.route.body ? ['{"input":{"x":"', '"}}'] : ["gone 1 ", "\n"];
  draft.body = { text: head + "x".repeat(bytes - head.length - tail.length) + tail };
  return true;
}

function changeParameter(draft: Draft, { chance }: Scene): boolean {
  const names = Object.keys(draft.params);
  if (names.length === 0) return false;
  const name = chance.pick(names);
  const old = draft.params[name]!;
  const cut = chance.below(old.length + 1);
  const ways = [
    () => chance.pick(SEGMENTS),
    () => old.slice(0, cut) + chance.pick(SEGMENTS) + old.slice(cut),
    () => old.toUpperCase(),
    () => old.slice(0, cut),
    () => `${old}${chance.pick(["%00", "/", "%20", ".", "%2f", ";a=b", "&x=1"])}`,
    () => [...old].reverse().join(""),
  ];
  draft.params[name] = chance.pick(ways)();
  return true;
}

function changePath(draft: Draft, { chance }: Scene): boolean {
  const path = pathOf(draft);
  const ways = [
    () => path.replaceAll("/", "//"),
    () => `${path}/`,
    () => `${path}/..`,
    () => `${path}/../../..`,
    () => path.replace("/v2/", "/V2/"),
    () => path.replace("/v2/", "/v1/"),
    () => `/x/..${path}`,
    () => `${path}%00`,
    () => path.replaceAll("/", "%2f"),
    () => `${path}/${"a/".repeat(chance.pick([10, 500, 3000]))}`,
    () => `${path}${"x".repeat(chance.pick([8000, 16_000, 40_000]))}`,
    () => `http://example.com${path}`,
    () => `${path}#fragment`,
    () => `${path}?`,
    () => path.replace(/^\//, ""),
    () =>
      `/v2/${chance.pick(["pods", "billing", "catalog/gpus", "templates", "account", "openapi.json", "registries"])}`,
    () => path.slice(0, chance.below(path.length)) || "/",
    () => `${path}\\..\\x`,
  ];
  draft.path = chance.pick(ways)();
  return true;
}

function changeQuery(draft: Draft, { chance, values }: Scene): boolean {
  const declared = Object.entries(draft.route.query);
  const odd = () =>
    asText(
      chance.pick<unknown>([
        values.odd(),
        "%00",
        "%zz",
        "%ff",
        "",
        "-1",
        "1e3",
        "0x10",
        "9".repeat(30),
        "x".repeat(2000),
      ]),
    );
  const ways = [
    () =>
      draft.query.push(
        ...Array.from({ length: chance.pick([1, 50, 1000]) }, (_, i): [string, string] => [`q${i}`, "1"]),
      ),
    () =>
      draft.query.push([
        chance.pick(["__proto__", "constructor", "", "%00", "api_key", "x".repeat(500), "a[]", "a.b"]),
        odd(),
      ]),
  ];
  if (declared.length > 0) {
    const [name, schema] = chance.pick(declared);
    const given = draft.query.filter(([known]) => known !== name);
    for (let i = 0; i < 6; i++) {
      ways.push(() => {
        draft.query = [...given, [name, asText(chance.chance(0.5) ? values.edge(schema) : odd())]];
        return 0;
      });
    }
    ways.push(() => draft.query.push([name, odd()], [name, odd()]));
    ways.push(() => draft.query.push([`${name}[]`, "1"], [`${name}%00`, "1"], [name.toUpperCase(), "1"]));
    if (name === "cursor") for (let i = 0; i < 6; i++) ways.push(() => draft.query.push(["cursor", cursor(chance)]));
    if (name === "from")
      ways.push(() =>
        draft.query.push([
          "from",
          chance.pick([
            '{"from":{"tail":5}}',
            "{}",
            "{",
            "null",
            "[]",
            '{"from":{"since":"x"}}',
            '{"from":null}',
            '{"from":{"after":{}}}',
          ]),
        ]),
      );
  }
  chance.pick(ways)();
  return true;
}

/** A cursor in the server's format with odd contents. */
function cursor(chance: SeededRandom): string {
  const listing = chance.pick(["endpoints", "releases", "builds", "secrets", "serverless", "x", "__proto__"]);
  const at = chance.pick<unknown>([0, -1, 1e15, 2 ** 53, 1.5, "0", null, {}, 1e308]);
  const id = chance.pick<unknown>(["", "a", "\0", "\ud800", "x".repeat(600), 5, null, {}, ["a"], "'"]);
  return Buffer.from(
    JSON.stringify(chance.pick<unknown>([[listing, at, id], [listing], null, {}, "x", [[listing], at, id]])),
  ).toString("base64url");
}

const headerNames = Object.keys(HEADERS);

function changeHeader(draft: Draft, { chance }: Scene): boolean {
  const name = chance.pick([...headerNames, ...draft.route.headers]);
  const value = chance.pick(HEADERS[name] ?? ["x"]);
  if (chance.chance(0.7)) draft.headers = draft.headers.filter(([known]) => known !== name);
  draft.headers.push([name, value]);
  if (name === "Host") draft.isFramed = false;
  return true;
}

function manyHeaders(draft: Draft, { chance }: Scene): boolean {
  const count = chance.pick([100, 900, 1990, 3000]);
  for (let i = 0; i < count; i++) draft.headers.push([`X-${i}`, "v"]);
  if (chance.chance(0.3)) draft.headers.push(["X-Long", "v".repeat(chance.pick([8000, 16_000, 33_000]))]);
  draft.isFramed = false;
  return true;
}

function changeMethod(draft: Draft, { chance }: Scene): boolean {
  draft.method = chance.pick(METHODS);
  // No parser knows where a request with a strange method ends, and a CONNECT request never ends.
  if (METHODS.indexOf(draft.method) > 8) draft.isFramed = false;
  return true;
}

function changeKey(draft: Draft, { chance }: Scene): boolean {
  const { key, byHand, readingKey } = draft.person;
  const values = [
    key,
    `Bearer ${readingKey}`,
    `Bearer ${readingKey}`,
    byHand.key,
    `Basic ${btoa(key)}`,
    `bearer ${key}`,
    `Bearer  ${key}`,
    "Bearer",
    "Bearer ",
    "",
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer ${key}, Bearer ${key}`,
    "\xff",
    "x".repeat(3000),
    `Bearer ${key}\t`,
  ];
  draft.headers = draft.headers.filter(([name]) => name !== "Authorization");
  if (chance.chance(0.85)) draft.headers.push(["Authorization", chance.pick(values)]);
  if (chance.chance(0.1)) draft.headers.push(["Authorization", "x"]);
  if (chance.chance(0.1)) draft.query.push(["api_key", key]);
  return true;
}

function changeOwner(draft: Draft, { chance }: Scene, other: Person): boolean {
  const foreign = Object.entries(draft.route.params).filter(([, named]) => theirs(other, named).length > 0);
  if (foreign.length === 0) return false;
  for (const [name, named] of foreign) draft.params[name] = chance.pick(theirs(other, named)).split("@")[0]!;
  draft.isForeign = draft.route.key !== "node";
  return true;
}

function theirs({ owns, kept, app, byHand }: Person, named: string): string[] {
  if (named === "endpoint") return [...owns.endpoint, kept.endpoint, app, byHand.endpoint];
  if (named === "secret") return [...owns.secret, kept.secret];
  if (named === "apiKey") return [...owns.apiKey, kept.apiKey];
  if (named === "job") return [...owns.job, ...kept.jobs];
  const isTheirs = [...thingNames, "worker", "batch", "request"].includes(named);
  return isTheirs ? owns[named as Named] : [];
}
