/** A copy of a template has its settings, another name, and is not public. */
import { expect, test } from "vitest";
import { copyOf } from "./copy.ts";

test("a copy takes what a creation takes, and nothing that is empty", () => {
  const template = {
    ...{
      id: "t1",
      name: "vllm",
      image: "vllm:1",
      args: "",
      entrypoint: [],
      cmd: ["serve"],
      disk: 20,
      env: {},
      ports: ["80/http"],
    },
    ...{ registry: null, mounts: {}, serverless: true, public: true, category: "NVIDIA", startSsh: false },
    ...{ startJupyter: false, allowedCudaVersions: [] },
  };
  expect(copyOf(template as never)).toEqual({
    ...{ name: "vllm copy", image: "vllm:1", cmd: ["serve"], disk: 20, ports: ["80/http"] },
    ...{ serverless: true, public: false, category: "NVIDIA", startSsh: false, startJupyter: false },
  });
});
