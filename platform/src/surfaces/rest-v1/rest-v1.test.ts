/** What holds for all of REST v1: its refusals, the headers of every answer, its document, and how it is switched off. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { giveVolumesAPlace } from "../../../tests/volume-doc.ts";
import { setup } from "../../../tests/world.ts";
import { restV1Document } from "./openapi.ts";
import { successorOf } from "./retirement.ts";

const VOLUMES = "/v1/networkvolumes";
const VOLUME = { name: "models", size: 50, dataCenterId: "EU-RO-1" };

describe("a refusal is one JSON object with its reason as `message`", () => {
  test.each([
    ["no key", "GET", VOLUMES, { key: null }, 401, /bearer token/],
    ["an unknown id", "GET", `${VOLUMES}/aaaaaaaaaaaaaa`, {}, 404, /not found/],
    ["an unknown path", "GET", "/v1/houses", {}, 404, /path was not found/],
    ["no path at all", "GET", "/v1", {}, 404, /path was not found/],
    ["a path that cannot be read", "GET", "/v1/%zz", {}, 400, /path is not valid/],
    ["another method", "PUT", VOLUMES, {}, 405, /method is not allowed/],
    ["broken JSON", "POST", VOLUMES, { body: "{" }, 400, /JSON/],
    ["no body", "POST", VOLUMES, {}, 400, /body is empty/],
    ["a body that is too long", "POST", VOLUMES, { body: " ".repeat(1024 * 1024 + 1) }, 413, /1048576/],
    [
      "another type",
      "POST",
      VOLUMES,
      { body: "{}", headers: { "content-type": "text/plain" } },
      415,
      /application\/json/,
    ],
  ] as const)("%s", async (_what, method, path, options, status, why) => {
    await using world = await setup();
    const answer = await world.call(method, path, options);
    expect(answer.json).toEqual({ message: expect.stringMatching(why), error: answer.json.message, status });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
  });

  test("a scope that the key lacks: 403", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["pods:read"] });
    const { status, json } = await world.call("GET", VOLUMES, { key });
    expect([status, json.message]).toEqual([403, "This API key lacks the scope 'network-volumes:read'."]);
  });

  test("what REST v2 calls 422 is 400, and every failure is in the text", async () => {
    await using world = await setup();
    const { status, json } = await world.call("POST", VOLUMES, { body: { size: "big", dataCenterId: "EU-RO-1" } });
    expect(status).toBe(400);
    expect(json.message).toBe("Request validation failed: $: property 'name' is required; $.size: must be integer");
  });

  test("a window that is used up: 429, and when to come again", async () => {
    await using world = await setup({ rateLimits: "1,10,10" });
    await world.call("GET", VOLUMES);
    const { status, json, headers } = await world.call("GET", VOLUMES);
    expect([status, json.status, headers.get("retry-after")]).toEqual([429, 429, "60"]);
  });

  test("what an update says beyond what is known is read by nobody", async () => {
    await using world = await setup();
    giveVolumesAPlace(world);
    const { status, json } = await world.call("POST", VOLUMES, { body: { ...VOLUME, bogus: true, id: "mine" } });
    expect([status, json.name]).toEqual([200, "models"]);
    expect(json.id).not.toBe("mine");
  });
});

describe("every answer says that v1 is deprecated, until when, and what comes instead", () => {
  const retirement = (headers: Headers) => ["deprecation", "sunset", "link"].map((name) => headers.get(name));
  const said = (path: string) => [
    expect.stringMatching(/^@\d+$/),
    "Sun, 15 Nov 2026 00:00:00 GMT",
    `<${path}>; rel="successor-version"`,
  ];

  test.each([
    [200, VOLUMES, {}, "/v2/network-volumes"],
    [404, `${VOLUMES}/aaaaaaaaaaaaaa`, {}, "/v2/network-volumes/aaaaaaaaaaaaaa"],
    [404, "/v1/houses", {}, "/v2/openapi.json"],
    [401, VOLUMES, { key: null }, "/v2/network-volumes"],
  ] as const)("%d of %s", async (status, path, options, successor) => {
    await using world = await setup();
    const answer = await world.call("GET", path, options);
    expect(answer.status).toBe(status);
    expect(retirement(answer.headers)).toEqual(said(successor));
    expect(answer.headers.has("ratelimit")).toBe(status !== 401);
  });

  test.each([
    ["/v1/pods", "/v2/pods"],
    ["/v1/pods/abc/stop", "/v2/pods/abc/action"],
    ["/v1/pods/abc/reset", "/v2/pods/abc"],
    ["/v1/endpoints/abc/update", "/v2/serverless/abc"],
    ["/v1/containerregistryauth/abc", "/v2/registries/abc"],
    ["/v1/billing/endpoints", "/v2/billing/serverless"],
    ["/v1/billing/networkvolumes", "/v2/billing/network-volumes"],
    ["/v1/pods/%3E%0d%0aX/start", "/v2/pods"],
    ["/v1/constructor/abc", "/v2/openapi.json"],
    ["/v1", "/v2/openapi.json"],
  ])("%s became %s", (path, successor) => expect(successorOf(path)).toBe(successor));

  test("REST v2 says none of it", async () => {
    await using world = await setup();
    const { headers } = await world.call("GET", "/v2/network-volumes");
    expect(retirement(headers)).toEqual([null, null, null]);
  });
});

describe("switched off", () => {
  test.each([
    ["GET", "/v1/pods/abc", "/v2/pods/abc"],
    ["POST", "/v1/endpoints", "/v2/serverless"],
    ["GET", "/v1/openapi.json", "/v2/openapi.json"],
    ["GET", "/v1/docs", "/docs"],
    ["DELETE", "/v1", "/v2/openapi.json"],
  ])("%s %s is gone, for whoever asks, and the answer names what is there", async (method, path, successor) => {
    await using world = await setup({ restV1: "off" });
    const { status, json, headers } = await world.call(method, path, { key: null });
    const message = `REST v1 is switched off here. Use REST v2 instead: ${successor}.`;
    expect([status, json]).toEqual([410, { message, error: message, status: 410 }]);
    expect(headers.get("link")).toBe(`<${successor}>; rel="successor-version"`);
  });
});

describe("the document", () => {
  test("is checked in as it is generated (npm exec node scripts/openapi.ts)", () => {
    const checkedIn = readFileSync(new URL("../../../../openapi-v1.json", import.meta.url), "utf8");
    expect(checkedIn).toBe(`${JSON.stringify(restV1Document(), null, 2)}\n`);
  });

  test("is served without a key, and people are led to its page", async () => {
    await using world = await setup();
    const { status, json } = await world.call("GET", "/v1/openapi.json", { key: null });
    expect([status, json.openapi, json.info.version]).toEqual([200, "3.1.0", "0.1.0"]);
    for (const path of ["/v1/docs", "/v1/openapi.json"]) {
      const { headers } = await fetch(world.url + path, { redirect: "manual" });
      expect(["deprecation", "sunset", "link"].map((name) => headers.get(name))).toEqual([
        ...["@1780272000", "Sun, 15 Nov 2026 00:00:00 GMT", expect.stringContaining("successor-version")],
      ]);
    }
    const page = await fetch(`${world.url}/v1/docs`, { redirect: "manual" });
    expect([page.status, page.headers.get("location")]).toEqual([302, "/docs/api/v1-pods"]);
  });
});
