/** The files of a listing that a test world has, in the layout of a hub repository. */

export const hubJson = {
  title: "Echo",
  description: "Gives back what it gets.",
  type: "serverless",
  category: "language",
  iconUrl: "https://example.com/icon.png",
  config: {
    runsOn: "CPU",
    cpuFlavor: "cpu3c-2-4",
    containerDiskInGb: 5,
    presets: [{ name: "Loud", defaults: { LEVEL: 9, LOUD: true } }],
    env: [
      { key: "FIXED", value: "always" },
      { key: "LEVEL", input: { name: "Level", type: "number", min: 1, max: 10, default: 3 } },
      { key: "MODE", input: { name: "Mode", type: "string", options: [{ label: "A", value: "a" }], default: "a" } },
      { key: "LOUD", input: { name: "Loud", type: "boolean", trueValue: "yes", falseValue: "no", default: false } },
      { key: "TOKEN", input: { name: "Token", type: "string", advanced: true } },
    ],
  },
  millrace: { image: "registry.test/echo:1", args: "run it", version: "v1" },
};

export const testsJson = {
  tests: [{ name: "says it back", input: { hello: "world" }, timeout: 10_000, expectedOutput: { hello: "world" } }],
};

const pod = { ...hubJson, title: "Box", type: "pod", millrace: { image: "registry.test/box:1" } };

export const LISTING: Record<string, string> = {
  "millrace/echo/.runpod/hub.json": JSON.stringify(hubJson),
  "millrace/echo/.runpod/tests.json": JSON.stringify(testsJson),
  "millrace/echo/README.md": "# Echo",
};

/** What the hub of a world has by default: the same, and a Pod without tests. */
export const LISTINGS = { ...LISTING, "millrace/box/hub.json": JSON.stringify(pod) };
