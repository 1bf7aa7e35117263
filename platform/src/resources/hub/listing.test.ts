/** What the files of a listing mean, which are refused, and why. */
import { describe, expect, test } from "vitest";
import { hubJson, testsJson } from "../../../tests/hub-listing.ts";
import type { FoundListing } from "../../ports/listings/listings.ts";
import { listingFrom } from "./listing.ts";
import { mismatch } from "./tests-file.ts";
import { environmentOf } from "./variables.ts";

const found = (hub: unknown, more: Partial<FoundListing> & { tests$?: unknown } = {}): FoundListing => {
  const { tests$, ...given } = more;
  return {
    ...{ owner: "Team", name: "worker", version: "abc", changedAt: 0 },
    hub: { path: "hub.json", text: typeof hub === "string" ? hub : JSON.stringify(hub) },
    ...(tests$ !== undefined && { tests: { path: "tests.json", text: JSON.stringify(tests$) } }),
    ...given,
  };
};
const read = (hub: unknown, more?: Parameters<typeof found>[1]) => listingFrom(found(hub, more), {});
const why = (hub: unknown, more?: Parameters<typeof found>[1]) => {
  const { listing, faults } = read(hub, more);
  expect(listing).toBeUndefined();
  return faults.map(({ file, field, why }) => `${file} ${field}: ${why}`);
};

/** The fields of a public worker's repository, in their public form. */
const PUBLIC = {
  title: "Model server",
  description: "Serves a model",
  type: "serverless",
  category: "language",
  iconUrl: "https://example.com/icon.png",
  config: {
    ...{ runsOn: "GPU", containerDiskInGb: 150, gpuIds: "ADA_80_PRO,AMPERE_80", gpuCount: 1 },
    allowedCudaVersions: ["12.8", "12.7", ""],
    presets: [{ name: "Small", defaults: { MODEL_NAME: "org/small", GONE: 1 } }],
    env: [
      { key: "MODEL_NAME", input: { name: "Model", type: "huggingface", description: "d", required: true } },
      { key: "MODE", input: { name: "Mode", type: "string", options: [{ label: "a", value: "a" }], default: "auto" } },
      { key: "TRUST", input: { name: "Trust", type: "boolean", default: false, advanced: true } },
      { key: "SHARE", input: { name: "Share", type: "number", default: 0.95 } },
      { key: "EMPTY", input: { name: "Empty", type: "string", default: "" } },
    ],
  },
  unknown: { anything: [1] },
};
const PUBLIC_TESTS = {
  tests: [{ name: "basic", input: { prompt: "hi" }, timeout: 300_000 }],
  config: { gpuTypeId: "NVIDIA A40", gpuCount: 1, env: [{ key: "A", value: "b" }], allowedCudaVersions: ["12.8"] },
};

test("a public repository is a listing as it is", () => {
  const { listing, faults } = read(PUBLIC, { tests$: PUBLIC_TESTS });
  expect(faults).toEqual([]);
  expect(listing).toMatchObject({
    ...{ id: "team.worker", releaseId: "team.worker@abc", title: "Model server", type: "SERVERLESS", disk: 150 },
    ...{ image: null, endpointType: "QUEUE", version: "abc" },
    compute: { gpuIds: "ADA_80_PRO,AMPERE_80", count: 1, allowedCudaVersions: ["12.8", "12.7"] },
    presets: [{ name: "Small", values: { MODEL_NAME: "org/small" } }],
    tests: [{ name: "basic", body: '{"input":{"prompt":"hi"}}', timeoutMs: 300_000 }],
  });
  const { env, errors } = environmentOf(listing!, { preset: "Small" });
  expect([env, errors]).toEqual([{ MODEL_NAME: "org/small", MODE: "auto", TRUST: "false", SHARE: "0.95" }, []]);
  expect(environmentOf(listing!, {}).errors).toEqual(["$.variables.MODEL_NAME: 'Model' is required"]);
});

describe("a wrong file says which field, and why", () => {
  test.each([
    ["no JSON", "{", "hub.json : The file is not valid JSON (at position 1)."],
    ["a list", [], "hub.json $: must be a JSON object"],
    ["a title that is no text", { title: 5 }, "hub.json $.title: must be a text"],
    ["a long title", { title: "x".repeat(192) }, "hub.json $.title: has 192 characters, of 191 at most"],
    ["another type", { type: "ship" }, "hub.json $.type: must be one of SERVERLESS, POD"],
    ["config that is a list", { config: [] }, "hub.json $.config: must be an object"],
    ["env that is an object", { config: { env: {} } }, "hub.json $.config.env: must be a list"],
    [
      "a variable without a name",
      { config: { env: [{ value: "x" }] } },
      "hub.json $.config.env[0].key: must be the name of a variable, without spaces",
    ],
    [
      "a variable with an equals sign",
      { config: { env: [{ key: "A=B", value: "x" }] } },
      "hub.json $.config.env[0].key: must be the name of a variable, without spaces",
    ],
    [
      "a variable with a space",
      { config: { env: [{ key: "A B", value: "x" }] } },
      "hub.json $.config.env[0].key: must be the name of a variable, without spaces",
    ],
    [
      "a variable that no object can have",
      { config: { env: [{ key: "__proto__", value: "x" }] } },
      "hub.json $.config.env[0].key: must be the name of a variable, without spaces",
    ],
    [
      "a value that is an object",
      { config: { env: [{ key: "A", value: {} }] } },
      "hub.json $.config.env[0].value: must be a text, a number, or true or false",
    ],
    [
      "a CUDA version",
      { config: { allowedCudaVersions: ["new"] } },
      "hub.json $.config.allowedCudaVersions: 'new' must be a version such as 12.4",
    ],
    ["a port", { millrace: { ports: ["80"] } }, "hub.json $.millrace.ports: '80' must be a port such as 8888/http"],
    ["a NUL in a text", '{"title":"a\\u0000"}', expect.stringContaining("$.title")],
    ["deep nesting", `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`, expect.stringContaining("nested deeper")],
    [
      "too many variables",
      { config: { env: new Array(201).fill({ key: "A" }) } },
      "hub.json $.config.env: has 201 items, of 200 at most",
    ],
  ])("%s", (_, hub, fault) => {
    expect(why(hub)).toEqual([fault]);
  });

  test.each([
    ["no input", { tests: [{ name: "t" }] }, "tests.json $.tests[0].input: is required: what the job gets"],
    ["an input that is a text", { tests: [{ input: "x" }] }, "tests.json $.tests[0].input: must be an object"],
    ["tests that are no list", { tests: 1 }, "tests.json $.tests: must be a list"],
  ])("of the tests: %s", (_, tests$, fault) => {
    expect(why({}, { tests$ })).toEqual([fault]);
  });

  test("an icon that is no address is left out, and the listing stays", () => {
    const { listing, faults } = read({ iconUrl: "javascript:alert(1)" });
    expect(listing?.iconUrl).toBeNull();
    expect(faults).toMatchObject([{ field: "$.iconUrl" }]);
  });
});

describe("an image", () => {
  const at = (image: string, folder?: FoundListing["folder"]) => read({ millrace: { image } }, { folder });
  const folder = { path: "/srv/hub/echo", root: "/srv/hub" };

  test.each([
    ["host:.", "host:/srv/hub/echo"],
    ["host:../other", "host:/srv/hub/other"],
    ["host:/srv/hub/x", "host:/srv/hub/x"],
    ["busybox:1", "busybox:1"],
  ])("%s of a folder is %s", (image, is) => {
    expect(at(image, folder).listing?.image).toBe(is);
  });

  test.each(["host:../../etc", "host:/etc", "host:../../srv/hubris"])("%s leaves the folder", (image) => {
    expect(at(image, folder).faults).toMatchObject([
      { field: "$.millrace.image", why: expect.stringContaining("leaves the folder") },
    ]);
  });

  test("of this machine is not for a listing of a Git repository", () => {
    expect(at("host:/srv/app").faults).toMatchObject([{ why: expect.stringContaining("only a listing in a folder") }]);
  });
});

test.each([
  [{ a: 1 }, { a: 1, b: 2 }, undefined],
  [{ a: [1, 2] }, { a: [1, 3] }, "output.a[1] is 3, and not 2"],
  [[1], [1, 2], "output has 2 items, and not 1"],
  ["x", undefined, 'output is absent, and not "x"'],
  [{ a: {} }, { a: null }, "output.a is not an object"],
  [{ constructor: 1 }, {}, "output has no 'constructor'"],
])("expected %j of %j", (expected, output, reason) => {
  expect(mismatch(expected, output)).toBe(reason);
});

test("the listing of the tests has no faults", () => {
  expect(read(hubJson, { tests$: testsJson }).faults).toEqual([]);
});
