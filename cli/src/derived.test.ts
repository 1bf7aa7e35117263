/** Verbs that are derived from operations: every one runs as its help shows it, and every operation has a verb or a reason. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { endpointCalls, invokeOperations, operations } from "@millrace/platform/contract.ts";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { runLine, shellFor } from "../../platform/tests/cli-shell.ts";
import { setupFleet } from "../../platform/tests/fleet-world.ts";
import { makeGoneNode } from "../../platform/tests/installation-calls.ts";
import { TWO_GPUS } from "../../platform/tests/pod-world.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";
import { EXIT } from "./failure.ts";
import { groups } from "./groups.ts";
import { verbs } from "./verbs.ts";

const derived = groups.flatMap((group) => group.verbs.map((verb) => ({ group, ...verb })));

/** The verbs, made by hand, that perform operations. */
const BY_HAND: Record<string, string> = {
  listApiKeys: "keys list",
  createApiKey: "keys create",
  deleteApiKey: "keys revoke",
  createPodTerminal: "exec",
  createWorkerTerminal: "exec",
  listVolumeFiles: "volumes ls",
  deleteVolumeFiles: "volumes rm",
  createVolumeFolder: "volumes mkdir",
  moveVolumeFile: "volumes mv",
  createVolumeFileLink: "volumes link",
  downloadVolumeFile: "volumes cp",
  exportBilling: "billing export",
  exportInstallationBilling: "installation export-billing",
  uploadVolumeFile: "volumes cp",
  beginCodeLogin: "login",
  collectCodeLogin: "login",
  runJob: "run",
  runJobAndWait: "run",
  streamJob: "run",
  waitForJob: "jobs wait",
  cancelJob: "jobs cancel",
  retryJob: "jobs retry",
  getJobOutput: "jobs output",
  getPodLogs: "logs",
  getWorkerLogs: "logs",
  getEndpointLogs: "logs",
};

/** Operations of REST v2 that have no verb, and why. */
const EXCEPTIONS: Record<string, string> = {
  updateMe: "It is for people in a browser: a key has no name, address or password to change.",
  listSessions: "It is for people in a browser: a key has no sessions.",
  endSessions: "It is for people in a browser: a key has no sessions.",
  endSession: "It is for people in a browser: a key has no sessions.",
  getSignIn: "It is for the page where people sign in. 'millrace open' leads there.",
  signIn: "It starts the session of a browser.",
  signInByLink: "It starts the session of a browser. 'millrace open' makes the link.",
  signInByInvitation: "It starts the session of a browser.",
  beginSignInByProvider: "It starts the session of a browser, by way of the identity provider.",
  signInByProvider: "It starts the session of a browser.",
  lookAtCodeLogin: "It is for the page on which people approve 'millrace login'.",
  answerCodeLogin: "It is for the page on which people approve 'millrace login': no command line approves another.",
  lookAtInvitation: "It is for the page that an invitation leads to.",
  signOut: "It ends the session of a browser. 'millrace logout' forgets a profile.",
  listEndpointBuilds: "It is always empty: images are run here, and none is built.",
  getEndpointBuild: "It is always 404: images are run here, and none is built.",
  listEndpointBilling: "Public endpoints do not exist here, so that it is always empty.",
  callOpenAi: "OpenAI clients call it.",
  getEndpointMetrics: "It is for programs that balance by themselves; 'endpoints workers' lists the workers.",
};

const names = Object.keys({ ...operations, ...invokeOperations });
const hasVerb = (name: string) => name in BY_HAND || derived.some(({ operation }) => operation === name);

describe("operations", () => {
  test("each has a verb, or a reason to have none", () => {
    expect(names.filter((name) => !hasVerb(name) && EXCEPTIONS[name] === undefined)).toEqual([]);
  });

  test("no reason stands for an operation that is not there, or has a verb", () => {
    expect(Object.keys(EXCEPTIONS).filter((name) => !names.includes(name) || hasVerb(name))).toEqual([]);
  });

  test("a verb that is made by hand is there", async () => {
    const { shell } = shellFor();
    for (const line of new Set(Object.values(BY_HAND))) {
      const [name, inner] = line.split(" ");
      const command = await verbs.find((verb) => verb.name === name)?.load(shell);
      expect(inner ? command?.commands.map((one) => one.name()) : [command?.name()], line).toContain(inner ?? name);
    }
  });

  test("every action of a resource is a verb of its own", () => {
    const actions = { podAction: ["start", "stop", "restart", "terminate"], machineAction: ["drain", "undrain"] };
    for (const [operation, all] of Object.entries(actions)) {
      const { in: body } = operations[operation as keyof typeof actions];
      expect((body.properties.action as unknown as { enum: string[] }).enum).toEqual(all);
      const verbs = derived.filter((verb) => verb.operation === operation).map(({ set }) => set?.action);
      expect(verbs.sort()).toEqual([...all].sort());
    }
  });

  test("a verb names an operation of its group", async () => {
    const all: object = { ...operations, ...endpointCalls };
    expect(derived.filter(({ operation }) => !(operation in all))).toEqual([]);
    for (const group of groups) {
      const own = await group.operations();
      expect(group.verbs.filter(({ operation }) => !(operation in own))).toEqual([]);
    }
  });
});

test("no flag of a model hides a flag that every verb has, and no flag is there twice", async () => {
  const { shell } = shellFor();
  for (const { name, load } of verbs) {
    const command = await load(shell);
    for (const one of [command, ...command.commands]) {
      const flags = one.options.map(({ long }) => long);
      expect(flags, `${name} ${one.name()}`).toEqual([...new Set(flags)]);
    }
  }
});

test("what is wrong is said before anything is sent, in the words of the flags", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "body.json");
  await writeFile(file, '{"name":"v","size":"ten"}');
  // Nobody listens there, so that a request would fail in another way.
  const env = { MILLRACE_URL: "http://127.0.0.1:1", MILLRACE_API_KEY: "k" };
  const wrong = (line: string) => runLine(env, `millrace ${line}`).catch((error: Error) => error);
  expect(await wrong("volumes create --name v --size 10")).toMatchObject({
    exitCode: EXIT.wrongUse,
    errors: ["--data-center is required"],
  });
  expect(await wrong(`volumes create --json-body ${file}`)).toMatchObject({
    ...{ exitCode: EXIT.wrongUse, errors: expect.arrayContaining(["--size: must be integer"]) },
  });
  expect(await wrong("volumes update v")).toMatchObject({ errors: ["name at least one thing to change"] });
  expect(await wrong("volumes create --size 5000")).toMatchObject({
    message: expect.stringContaining("from 10 to 4096"),
  });
  expect(await wrong("volumes create --type FAST")).toMatchObject({
    message: expect.stringContaining("must be one of"),
  });
});

test("the help of every verb has an example", async () => {
  const { shell } = shellFor();
  const without: string[] = [];
  const look = (command: Command, path: string) => {
    const text: string[] = [];
    command.configureOutput({ writeOut: (part) => void text.push(part) }).outputHelp();
    if (command.commands.length === 0 && !/\nExample.*:\n {2}\S/.test(text.join(""))) without.push(path);
    for (const one of command.commands) look(one, `${path} ${one.name()}`);
  };
  for (const { name, load } of verbs) look(await load(shell), name);
  expect(without).toEqual([]);
});

test("every example of a help runs", async () => {
  await using world = await setupFleet({
    endpoint: { name: "first" },
    rateLimits: "off",
    domain: "pods.test",
    machine: TWO_GPUS,
  });
  await using folder = await temporaryFolder();
  const env = { MILLRACE_URL: world.url, MILLRACE_API_KEY: world.key };
  const files = {
    "requests.json": '[{"input":{}},{"input":{}}]',
    "keys.json": '{"keys":[]}',
    "user.txt": "u",
    "password.txt": "p\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  await world.pass(1);
  for (const { group, verb, example } of derived) {
    // What is deleted at the end of one group is needed by another, so it is made again.
    if (group.name === "jobs" && verb === "list") {
      await again("endpoints", "create");
      await run("run", "echo", "--detach");
    }
    if (group.name === "public-endpoints" && verb === "get") {
      const body = { name: "a-model", endpointId: world.endpoint };
      await world.call("POST", "/v2/public-endpoints", { body });
    }
    if (verb === "remove-node") await makeGoneNode(world, "node");
    if (group.name === "pods" && verb === "delete") await again("pods", "create");
    await run(group.name, verb, example);
    await world.settle();
  }

  async function again(group: string, verb: string) {
    const { example } = derived.find((one) => one.group.name === group && one.verb === verb)!;
    await run(group, verb, example);
  }

  async function run(group: string, verb: string, example: string) {
    const line = `millrace ${group} ${verb} ${example}`.replaceAll(/\b(\w+\.(?:json|txt))(?=\s|$)/g, (file) =>
      file in files ? join(folder.path, file) : file,
    );
    const { status } = await runLine(env, line).catch((error: Error & { errors?: string[] }) => {
      throw new Error(`${line}: ${[error.message, ...(error.errors ?? [])].join("; ")}`);
    });
    expect(status, line).toBe(0);
  }
});
