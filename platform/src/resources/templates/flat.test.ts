/** The flat dialect of templates, beyond what all dialects have in common. */
import { expect, test } from "vitest";
import { flatConformance } from "../../kernel/flat.conformance.ts";
import type { SeededRandom } from "../../kernel/random.ts";
import { created, updated } from "./fields.ts";
import { templateDialect } from "./flat.ts";
import { type KeptTemplate, templateCategories } from "./model.ts";

const { of, terms } = templateDialect;

const whole: Required<KeptTemplate> = {
  name: "t",
  image: "example/image:1",
  args: "run it",
  entrypoint: [],
  cmd: ["run", "it"],
  disk: 7,
  env: { A: "b" },
  ports: ["8080/http"],
  registry: "aaaaaaaaaaaaaa",
  mounts: { persistent: { size: 30, path: "/data" } },
  serverless: false,
  public: true,
  category: "CPU",
  startSsh: false,
  startJupyter: true,
  allowedCudaVersions: ["12.4"],
  readme: "# Read me",
  portLabels: [{ port: "8080", name: "web" }],
  startScript: "echo",
};

flatConformance("templates", {
  dialect: templateDialect,
  whole: [whole],
  any: anyTemplate,
  made: (said) => created({ name: "", image: "", ...said }),
});

test("it has the names that public clients know", () => {
  expect(of(whole)).toMatchObject({
    name: "t",
    imageName: "example/image:1",
    dockerArgs: "run it",
    dockerEntrypoint: [],
    dockerStartCmd: ["run", "it"],
    containerDiskInGb: 7,
    env: { A: "b" },
    ports: ["8080/http"],
    containerRegistryAuthId: "aaaaaaaaaaaaaa",
    volumeInGb: 30,
    volumeMountPath: "/data",
    isServerless: false,
    isPublic: true,
    category: "CPU",
    startSsh: false,
    startJupyter: true,
    allowedCudaVersions: ["12.4"],
    readme: "# Read me",
    portsConfig: [{ port: "8080", name: "web" }],
    startScript: "echo",
  });
});

test("storage is said by its size, moved by its path, and taken away by 0", () => {
  const mountsAfter = (flat: object, before = whole) => updated(before, terms({ ...flat }, before)).mounts;
  const none = { ...whole, mounts: {} };
  expect(mountsAfter({ volumeInGb: 40 })).toEqual({ persistent: { size: 40, path: "/data" } });
  expect(mountsAfter({ volumeMountPath: "/other" })).toEqual({ persistent: { size: 30, path: "/other" } });
  expect(mountsAfter({ volumeMountPath: "/other", volumeInGb: 5 })).toEqual({
    persistent: { size: 5, path: "/other" },
  });
  expect(mountsAfter({ volumeInGb: 0 })).toEqual({});
  expect(mountsAfter({ volumeMountPath: "/other" }, none)).toEqual({});
  expect(mountsAfter({ volumeInGb: 20 }, none)).toEqual({ persistent: { size: 20, path: "/workspace" } });
});

function anyTemplate(random: SeededRandom): KeptTemplate {
  return {
    ...whole,
    name: `t${random.below(1000)}`,
    disk: 1 + random.below(100),
    registry: random.chance(0.5) ? "aaaaaaaaaaaaaa" : null,
    mounts: random.chance(0.5) ? { persistent: { size: 1 + random.below(100), path: "/p" } } : {},
    public: random.chance(0.5),
    category: random.pick(templateCategories),
    portLabels: random.chance(0.5) ? [{ port: "80", name: "web" }] : [],
  };
}
