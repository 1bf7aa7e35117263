/** `millrace deploy` on a server whose machine is fake: what becomes an endpoint, what is waited for, and how it fails. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { failures, loadValidation } from "@millrace/platform/kernel/validate.ts";
import { expect, test } from "vitest";
import { shellFor } from "../../platform/tests/cli-shell.ts";
import { type FleetWorld, setupFleet } from "../../platform/tests/fleet-world.ts";
import { root, temporaryFolder } from "../../platform/tests/process.ts";
import { configSchema, readDeployConfig } from "./deploy/config.ts";
import { deployCommand } from "./deploy.ts";

const IMAGE = "registry.example/team/resnet:2";

/** Deploys while time passes on the fake machine. `program` plays each worker that was started. */
async function deploy(world: FleetWorld, words: string[], program: (world: FleetWorld) => unknown = answer) {
  const { shell, out } = shellFor({ MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key });
  const command = deployCommand({ ...shell, clock: world.clock }).exitOverride();
  let isOver = false;
  const done = command.parseAsync(["node", "deploy", ...words]).finally(() => {
    isOver = true;
  });
  const passing = (async () => {
    while (!isOver) {
      await world.pass(1);
      if (!isOver) await program(world);
    }
  })();
  try {
    await done;
  } finally {
    await passing;
  }
  return out();
}

const answer = (world: FleetWorld) => void world.running().map((program) => program.take().catch(() => undefined));

const endpointNamed = async (world: FleetWorld, name: string) =>
  (await world.call("GET", "/v2/serverless")).json.endpoints.find((one: { name: string }) => one.name === name);

test("an image becomes an endpoint, and its first worker is waited for, which does not stay where none is kept", async () => {
  await using world = await setupFleet();
  const out = await deploy(world, [IMAGE, "--workers.max", "2", "--env", "MODEL=small"]);
  const endpoint = await endpointNamed(world, "resnet");
  expect(endpoint).toMatchObject({ image: IMAGE, env: { MODEL: "small" }, workers: { min: 0, max: 2 } });
  expect(out).toContain(`created resnet (${endpoint.id}), release 1\n`);
  expect(out).toMatch(/worker \w+ is ready after [\d.]+ s\n/);
  expect(out.trimEnd().endsWith(`${world.url}/v2/${endpoint.id}`)).toBe(true);
});

test("the proof changes no number of workers, and leaves no job behind, so that a killed deployment leaves nothing", async () => {
  await using world = await setupFleet();
  const seen = new Set<number>();
  await deploy(world, [IMAGE], async (at) => {
    seen.add((await endpointNamed(at, "resnet"))?.workers.min ?? 0);
    answer(at);
  });
  expect([...seen]).toEqual([0]);
  const { id } = await endpointNamed(world, "resnet");
  const { requests } = (await world.call("GET", `/v2/${id}/requests`)).json;
  expect(requests.map(({ status }: { status: string }) => status)).toEqual(["CANCELLED"]);
});

test("a number of GPUs alone means any type, and a later number keeps the types", async () => {
  await using world = await setupFleet();
  await deploy(world, [IMAGE, "--gpu", "2", "--no-wait"]);
  const { gpu } = await endpointNamed(world, "resnet");
  expect(gpu).toMatchObject({ count: 2, pools: expect.arrayContaining(["AMPERE_24", "ADA_24"]) });
  await world.call("PATCH", `/v2/serverless/${(await endpointNamed(world, "resnet")).id}`, {
    body: { gpu: { pools: ["ADA_24"] } },
  });
  await deploy(world, [IMAGE, "--gpu", "4", "--no-wait"]);
  expect((await endpointNamed(world, "resnet")).gpu).toMatchObject({ count: 4, pools: ["ADA_24"] });
});

test("the same name again is a new release of the same endpoint, and fields that are not named stay", async () => {
  await using world = await setupFleet();
  await deploy(world, [IMAGE, "--env", "MODEL=small", "--no-wait"]);
  const before = await endpointNamed(world, "resnet");
  const out = await deploy(world, ["registry.example/team/resnet:3", "--json", "--no-wait"]);
  expect(JSON.parse(out)).toMatchObject({ id: before.id, release: 2, created: false });
  expect(await endpointNamed(world, "resnet")).toMatchObject({ env: { MODEL: "small" } });
});

test("a first worker that fails is a failed deployment, with the reason", async () => {
  await using world = await setupFleet();
  const fail = ({ running }: FleetWorld) => {
    for (const { instance } of running()) {
      instance.write("no such model\n");
      instance.exit({ code: 7 });
    }
  };
  await expect(deploy(world, [IMAGE], fail)).rejects.toThrow(
    "the first worker failed: exit 7, last lines: no such model",
  );
  expect(await endpointNamed(world, "resnet")).toMatchObject({ workers: { min: 0 } });
});

test("what keeps the first worker waiting is said, and a wait that is too long has a status of its own", async () => {
  await using world = await setupFleet();
  const waiting = deploy(world, [IMAGE, "--within", "5"], () => {});
  await expect(waiting).rejects.toMatchObject({
    exitCode: 5,
    message: expect.stringContaining("in time: a worker is"),
  });
});

test("millrace.yaml gives the fields, and flags come before it", async () => {
  await using world = await setupFleet();
  await using folder = await temporaryFolder();
  const yaml = "name: hello\nimage: registry.example/hello:1\nenv: {A: file, B: file}\ntimeout: 60000\n";
  await writeFile(join(folder.path, "millrace.yaml"), yaml);
  await deploy(world, [folder.path, "--env", "B=flag", "--no-wait"]);
  expect(await endpointNamed(world, "hello")).toMatchObject({ env: { A: "file", B: "flag" }, timeout: 60_000 });
});

test("a folder with a handler runs it as it is, and a second deployment replaces its workers", async () => {
  await using world = await setupFleet();
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "handler.ts"), "", { mode: 0o644 });
  const args = [folder.path, "--name", "mine", "--json", "--no-wait"];
  expect(JSON.parse(await deploy(world, args))).toMatchObject({ release: 1, created: true });
  expect(await endpointNamed(world, "mine")).toMatchObject({
    image: `host:${folder.path}`,
    cmd: ["node", "--disable-warning=ExperimentalWarning", "handler.ts"],
  });
  expect(JSON.parse(await deploy(world, args))).toMatchObject({ release: 2, created: false });
});

test("a file that is no YAML, or holds no fields, is refused", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "millrace.yaml");
  await writeFile(file, "a: [");
  await expect(readDeployConfig(folder.path)).rejects.toThrow("is not valid YAML");
  await writeFile(file, "- a");
  await expect(readDeployConfig(folder.path)).rejects.toThrow("must hold fields, such as 'name: hello'");
});

test("the schema knows the fields of the API and the handler, and the documentation's file fits it", async () => {
  const schema = configSchema() as { properties: Record<string, object> };
  expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(["handler", "name", "gpu", "workers", "env"]));
  expect(JSON.stringify(schema)).not.toContain('"x-');
  const text = await readFile(join(root, "docs/deploy.md"), "utf8");
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "millrace.yaml"), /```yaml\n(.*?)```/s.exec(text)![1]!);
  const { handler, fields } = await readDeployConfig(folder.path);
  loadValidation();
  expect(failures(schema as never, { handler, ...fields })).toEqual([]);
});
