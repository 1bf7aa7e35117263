/** How a template fills the form of an endpoint. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { expect, it } from "vitest";
import { filledFrom } from "./template-fields.ts";

const template = {
  id: "t1",
  name: "echo",
  image: "host:/srv/echo",
  args: "",
  entrypoint: [],
  cmd: ["node", "worker.ts"],
  disk: 20,
  env: {},
  ports: [],
  registry: "r1",
  category: "NVIDIA",
} as unknown as Template;

it("fills what the template says, and leaves out what is empty and its credential", () => {
  const filled = filledFrom(template, { type: "QUEUE", gpu: { id: "A40" }, workers: { min: 0, max: 3 } });
  expect(filled).toEqual({
    type: "QUEUE",
    workers: { min: 0, max: 3 },
    gpu: { id: "A40" },
    name: "echo",
    image: "host:/srv/echo",
    cmd: ["node", "worker.ts"],
    disk: 20,
    templateId: "t1",
  });
});

it("asks for CPU where the template is made for it", () => {
  const filled = filledFrom({ ...template, category: "CPU" }, { type: "QUEUE", gpu: {} });
  expect(filled).toMatchObject({ cpu: [{ id: "cpu3c", vcpuCount: 2 }] });
  expect(filled).not.toHaveProperty("gpu");
});
