/** What is copied from a template: the caller's own values win, and fields that do not apply to the kind are left out. */
import { describe, expect, test } from "vitest";
import { containerOf, KEPT_CONTAINER } from "../container/model.ts";
import { type Sayable, withTemplate } from "./copy.ts";
import { created } from "./fields.ts";

const TEMPLATE = created({
  name: "t",
  image: "example/image:1",
  entrypoint: ["/enter"],
  cmd: ["run"],
  disk: 30,
  env: { A: "template", B: "template" },
  ports: ["80/http"],
  registry: "aaaaaaaaaaaaaa",
  mounts: { persistent: { size: 20, path: "/data" } },
  allowedCudaVersions: ["12.4"],
  startSsh: true,
  startJupyter: false,
});
const COMMAND = { args: '{"entrypoint":["/enter"],"cmd":["run"]}', entrypoint: ["/enter"], cmd: ["run"] };
const CONTAINER = { image: "example/image:1", ...COMMAND, disk: 30, ports: ["80/http"], registry: "aaaaaaaaaaaaaa" };

test.each(["new-endpoint", "new-pod", "change"] as const)(
  "every field of the container is in a copy: %s",
  (copying) => {
    const all = Object.fromEntries(KEPT_CONTAINER.map((field) => [field, `any ${field}`]));
    const template = { ...all, ...TEMPLATE };
    expect(withTemplate(template, {}, copying)).toMatchObject({ ...all, ...containerOf(TEMPLATE) });
  },
);

describe("a new Pod", () => {
  test("gets all of it", () => {
    expect(withTemplate(TEMPLATE, { gpu: {} }, "new-pod")).toEqual({
      ...CONTAINER,
      env: { A: "template", B: "template" },
      gpu: { allowedCudaVersions: ["12.4"] },
      mounts: { persistent: { size: 20, path: "/data" } },
      startSsh: true,
      startJupyter: false,
    });
  });

  test("has what its caller says in its place, and variables one by one", () => {
    const own = {
      image: "other",
      args: "",
      disk: 1,
      ports: [],
      registry: null,
      env: { B: "own", C: "own" },
      gpu: { minCudaVersion: "12.1" },
      mounts: { persistent: { size: 10, path: "/own" } },
      startSsh: false,
      startJupyter: true,
    };
    expect(withTemplate(TEMPLATE, own, "new-pod")).toEqual({
      ...own,
      entrypoint: [],
      cmd: [],
      env: { A: "template", B: "own", C: "own" },
    });
  });

  test("without GPUs gets neither CUDA nor a persistent mount", () => {
    const made = withTemplate<Sayable>(TEMPLATE, { cpu: [] }, "new-pod");
    expect([made.mounts, "gpu" in made]).toEqual([undefined, false]);
  });

  test("with a network volume gets no persistent mount beside it", () => {
    const mounts = { network: [{ volumeId: "v", path: "/v" }] };
    expect(withTemplate(TEMPLATE, { gpu: {}, mounts }, "new-pod").mounts).toEqual(mounts);
  });

  test("with a path that nobody chose has its storage where the template's is", () => {
    const own = { mounts: { persistent: { size: 50, path: "/workspace" } }, isDefaultPath: true };
    expect(withTemplate(TEMPLATE, { gpu: {}, ...own }, "new-pod").mounts).toEqual({
      persistent: { size: 50, path: "/data" },
    });
    expect(withTemplate(created({ name: "t", image: "i" }), { gpu: {}, ...own }, "new-pod").mounts).toEqual(own.mounts);
  });

  test("that names a path alone has the template's storage there", () => {
    expect(withTemplate<Sayable>(TEMPLATE, { gpu: {}, mounts: {}, mountPath: "/own" }, "new-pod")).toMatchObject({
      mounts: { persistent: { size: 20, path: "/own" } },
      mountPath: undefined,
    });
  });

  test("that names no storage by an empty object gets the template's", () => {
    expect(withTemplate(TEMPLATE, { gpu: {}, mounts: {} }, "new-pod").mounts).toEqual(TEMPLATE.mounts);
  });
});

test("one half of a command stands with the other half of the template's", () => {
  expect(withTemplate(TEMPLATE, { cmd: ["walk"] }, "change")).toMatchObject({ entrypoint: ["/enter"], cmd: ["walk"] });
});

test("a new endpoint gets the container and CUDA, and nothing that is a Pod's", () => {
  expect(withTemplate(TEMPLATE, { gpu: { allowedCudaVersions: [] } }, "new-endpoint")).toEqual({
    ...CONTAINER,
    env: { A: "template", B: "template" },
    gpu: { allowedCudaVersions: [] },
  });
});

describe("a change", () => {
  test("takes the container alone, variables as a whole", () => {
    expect(withTemplate(TEMPLATE, {}, "change")).toEqual({ ...CONTAINER, env: TEMPLATE.env });
    expect(withTemplate(TEMPLATE, { env: { C: "own" } }, "change").env).toEqual({ C: "own" });
  });
});
