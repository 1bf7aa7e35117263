/** Random malformed requests: each is refused in the form of its surface, never with a fault of the server or silence. */
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { setup, type World } from "../../../tests/world.ts";
import { resourceWords } from "../../contract.ts";
import { realRandom } from "../../kernel/random.ts";
import { openApiDocument } from "../rest-v2/openapi.ts";

const ENDPOINT = { name: "mine", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

const RUNS = 1000;
/** Repeat a failed run with the seed that it printed: MILLRACE_TEST_SEED=… */
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readInt32LE());

interface Malformed {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | undefined;
}

const served = fc.constantFrom(
  "/v2/account/secrets",
  "/v2/account/api-keys",
  "/v2/account/ssh-keys",
  "/v2/account/secrets/ID",
  "/v2/serverless",
);
/** Under an endpoint's own URL every refusal has the flat form, whatever the path. */
const invoked = fc.constantFrom("/run", "/runsync", "/status/nothing", "/cancel/nothing", "/retry/nothing", "/nothing");
const unserved = fc.oneof(
  // A client resolves `..` itself and might arrive at a path that exists.
  fc.webPath().map((text) => `/v2/account/nothing${text.replaceAll("..", "")}`),
  fc.string({ unit: "binary" }).map((text) => `/v2/-${encodeURIComponent(text.toWellFormed())}`),
  fc.constantFrom("/v2/account/secrets/%zz", "/v2/account/secrets/%00", "/%", "/v2/pods/%ff", "//", "/v2//"),
);
const query = fc.oneof(
  fc.constant(""),
  fc.webQueryParameters().map((text) => `?${text}`),
  fc.constantFrom("?%zz=%", "?name=%00", "?name=%ff&name=", "?__proto__=1", `?name=${"x".repeat(8000)}`),
);

const tooDeep = fc.integer({ min: 100, max: 20_000 }).map((depth) => "[".repeat(depth) + "]".repeat(depth));
const deepObject = fc.integer({ min: 100, max: 5000 }).map((depth) => '{"a":'.repeat(depth) + 1 + "}".repeat(depth));
const hugeKey = fc.integer({ min: 1000, max: 100_000 }).map((length) => `{"${"k".repeat(length)}":1}`);
const wrongTypes = fc
  .record(
    {
      name: fc.jsonValue(),
      value: fc.oneof(fc.integer(), fc.constant(null), fc.array(fc.string()), fc.constant("")),
      description: fc.jsonValue(),
      scopes: fc.jsonValue(),
      keys: fc.jsonValue(),
      expiresAt: fc.jsonValue(),
      bogus: fc.jsonValue(),
    },
    { requiredKeys: ["value", "bogus"] },
  )
  .map((value) => JSON.stringify(value));
const brokenJson = fc.tuple(fc.json(), fc.nat()).map(([text, at]) => `${text.slice(0, at % (text.length + 1))}}{`);
const oddities = fc.constantFrom(
  '{"__proto__":{"value":"x"}}',
  '{"value":"\\u0000"}',
  '{"keys":["\\ud800"]}',
  '{"\\u0000":1}',
  '{"name":"\\udfff"}',
);
const body = fc.oneof(
  fc.constant(undefined),
  fc.constant(""),
  fc.uint8Array({ maxLength: 2000 }).map((bytes) => Uint8Array.from([0xff, ...bytes])),
  brokenJson,
  wrongTypes,
  fc.json().map((text) => `[${text}]`),
  oddities,
  hugeKey,
  tooDeep,
  deepObject,
);

const contentType = fc.oneof(
  { weight: 4, arbitrary: fc.constant("application/json") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("text/plain", 'application/json; charset="', "/", "multipart/form-data", "json"),
  },
);
const headerText = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const headers = fc.record(
  {
    "content-type": contentType,
    "content-encoding": fc.constantFrom("gzip", "identity", "br, gzip", "nothing"),
    accept: headerText,
    cookie: headerText,
    "x-request-id": headerText,
    range: headerText,
    "x-http-method-override": fc.constantFrom("GET", "DELETE"),
    "accept-encoding": headerText,
  },
  { requiredKeys: [] },
);

/** GET is left out, since it would succeed: a path that is served can only be malformed in what is sent to it. */
const method = fc.constantFrom("POST", "PUT", "PATCH", "DELETE", "OPTIONS");
const taker = fc.constantFrom(
  { method: "POST", path: "/v2/account/secrets" },
  { method: "PATCH", path: "/v2/account/secrets/ID" },
  { method: "POST", path: "/v2/account/api-keys" },
  { method: "PUT", path: "/v2/account/ssh-keys" },
  { method: "POST", path: "/v2/serverless" },
  { method: "POST", path: "/v2/ENDPOINT/run" },
  { method: "POST", path: "/v2/ENDPOINT/runsync" },
);
const plainHeaders = fc.constant({ "content-type": "application/json" });
const malformed: fc.Arbitrary<Malformed> = fc.oneof(
  // Most requests go where a body is read, and only the body is wrong.
  {
    weight: 5,
    arbitrary: fc
      .record({ taker, query, headers: plainHeaders, body })
      .map(({ taker, ...rest }) => ({ ...taker, ...rest })),
  },
  { weight: 2, arbitrary: fc.record({ method, path: served, query, headers, body }) },
  { weight: 1, arbitrary: fc.record({ method, path: unserved, query, headers, body }) },
  {
    weight: 1,
    arbitrary: fc.record({ method, path: invoked.map((path) => `/v2/ENDPOINT${path}`), query, headers, body }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ method: fc.constant("GET"), path: unserved, query, headers, body: fc.constant(undefined) }),
  },
);

const document = openApiDocument() as { components: { schemas: { Error: object } } };
const isProblem = new Ajv2020({ strict: false }).compile(document.components.schemas.Error);

const flat = { error: expect.stringMatching(/./), message: expect.stringMatching(/./) };

test(`${RUNS} random malformed requests give 4xx with a valid problem or flat error (seed ${seed})`, async () => {
  await using world = await setup();
  const key = await world.newKey({ exempt: true });
  const { id } = (await world.call("POST", "/v2/account/secrets", { body: { name: "token", value: "kept" } })).json;
  const endpoint = (await world.call("POST", "/v2/serverless", { body: ENDPOINT })).json.id;
  await fc.assert(
    fc.asyncProperty(malformed, (request) => expectRefusal(world, key, { id, endpoint }, request)),
    { numRuns: RUNS, seed },
  );
  expect(world.logged.join("\n")).not.toContain("unforeseen fault");
  expect(await world.services.secrets.reveal(world.owner.account, "token")).toBe("kept");
});

async function expectRefusal(
  world: World,
  key: string,
  { id, endpoint }: { id: string; endpoint: string },
  request: Malformed,
): Promise<void> {
  const { method, query, headers, body } = request;
  // DELETE takes no body that could be malformed, so it asks for a secret that does not exist.
  const path = (method === "DELETE" ? request.path : request.path.replace("ID", id)).replace("ENDPOINT", endpoint);
  const answer = await world.call(method, path + query, { key, headers, body });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(answer.text.length).toBeLessThan(10_000);
  if (isInvocation(path)) {
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.json).toEqual(flat);
    return;
  }
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(isProblem(answer.json)).toBe(true);
  expect(answer.json.status).toBe(answer.status);
}

/** The first segment after `/v2` decides, if the path can be parsed at all. */
function isInvocation(path: string): boolean {
  const [version, first] = path.split("/").filter(Boolean);
  return version === "v2" && first !== undefined && !(resourceWords as readonly string[]).includes(first);
}
