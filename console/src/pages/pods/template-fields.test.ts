/** A template fills the form of a new Pod, and leaves to the person what it does not say. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { expect, test } from "vitest";
import { filledFrom, withoutTemplate } from "./template-fields.ts";

const template = {
  id: "t1",
  name: "PyTorch",
  image: "pytorch:2",
  entrypoint: [],
  cmd: ["sleep"],
  disk: 40,
  env: { A: "1" },
  ports: ["8888/http"],
  mounts: { persistent: { size: 20, path: "/workspace" } },
  category: "NVIDIA",
  startSsh: true,
  startJupyter: false,
  registry: "r1",
} as unknown as Template;

test("fields that the template sets are filled in, without empty ones and without its credential", () => {
  expect(filledFrom(template, { gpu: { id: "g", count: 2 }, image: "old" })).toEqual({
    name: "PyTorch",
    image: "pytorch:2",
    cmd: ["sleep"],
    disk: 40,
    env: { A: "1" },
    ports: ["8888/http"],
    mounts: { persistent: { size: 20, path: "/workspace" } },
    startSsh: true,
    startJupyter: false,
    gpu: { id: "g", count: 2 },
    templateId: "t1",
  });
});

test("a template for CPU asks for CPU, and for no persistent folder", () => {
  const filled = filledFrom({ ...template, category: "CPU" }, { gpu: {}, name: "mine" });
  expect(filled).toMatchObject({ name: "mine", cpu: { id: "cpu3c", vcpuCount: 2 } });
  expect(filled).not.toHaveProperty("gpu");
  expect(filled).not.toHaveProperty("mounts");
});

test("by hand again keeps the compute and nothing of the template", () => {
  expect(withoutTemplate({ image: "x", templateId: "t1", gpu: { id: "g" } })).toEqual({ gpu: { id: "g" } });
});
