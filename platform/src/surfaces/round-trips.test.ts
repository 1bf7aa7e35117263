/** Sending back what was read changes nothing: no record, no version, no release, no boot, and no entry in the audit log. */
import { describe, expect, test } from "vitest";
import { makers } from "../../tests/any-records.ts";
import { type Answered, called } from "../../tests/faces.ts";
import { ask } from "../../tests/graphql.ts";
import { type PodWorld, setupPods } from "../../tests/pod-world.ts";
import { type Fields, graphWay, reordered, restWay, type Way } from "../../tests/round-trips.ts";
import { realRandom, SeededRandom } from "../kernel/random.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import type { StoredRecord, Write } from "../ports/store/store.ts";
import { accountOperations } from "../resources/account/operations.ts";
import { clusterOperations } from "../resources/clusters/operations.ts";
import { endpointOperations } from "../resources/endpoints/operations.ts";
import { endpointOperationsV1 } from "../resources/endpoints/operations-v1.ts";
import { podOperations } from "../resources/pods/operations.ts";
import { podOperationsV1 } from "../resources/pods/operations-v1.ts";
import { secretOperations } from "../resources/secrets/operations.ts";
import { spendingOperations } from "../resources/spending/operations.ts";
import { templateOperations } from "../resources/templates/operations.ts";
import { templateOperationsV1 } from "../resources/templates/operations-v1.ts";
import { networkVolumeOperations } from "../resources/volumes/operations.ts";
import { networkVolumeOperationsV1 } from "../resources/volumes/operations-v1.ts";

const ROUNDS = 3;

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
console.log(`MILLRACE_TEST_SEED=${seed}`);

const pairIn = (line: string) => ({ key: line.slice(0, line.indexOf("=")), value: line.slice(line.indexOf("=") + 1) });

const ways: Record<keyof typeof makers, Record<string, Way>> = {
  Pod: {
    "REST v2": restWay({
      at: (id) => `/v2/pods/${id}`,
      update: podOperations.updatePod.in,
      forms: { globalNetworking: ({ enabled }) => enabled },
    }),
    "REST v1": restWay({ at: (id) => `/v1/pods/${id}`, update: podOperationsV1.updatePod.in }),
    "REST v1 by POST": restWay({
      at: (id) => `/v1/pods/${id}`,
      to: (id) => `/v1/pods/${id}/update`,
      method: "POST",
      update: podOperationsV1.updatePod.in,
    }),
    GraphQL: graphWay({
      ...{ save: "podEditJob", input: "PodEditJobInput", named: "podId", output: "Pod", list: "pods" },
      forms: { env: (lines: string[]) => lines.map(pairIn) },
    }),
  },
  endpoint: {
    "REST v2": restWay({ at: (id) => `/v2/serverless/${id}`, update: endpointOperations.updateEndpoint.in }),
    "REST v1": restWay({ at: (id) => `/v1/endpoints/${id}`, update: endpointOperationsV1.updateEndpoint.in }),
    GraphQL: graphWay({ save: "saveEndpoint", input: "EndpointInput", output: "Endpoint", list: "endpoints" }),
  },
  template: {
    "REST v2": restWay({ at: (id) => `/v2/templates/${id}`, update: templateOperations.updateTemplate.in }),
    "REST v1": restWay({ at: (id) => `/v1/templates/${id}`, update: templateOperationsV1.updateTemplate.in }),
    GraphQL: graphWay({
      save: "saveTemplate",
      input: "SaveTemplateInput",
      output: "PodTemplate",
      list: "podTemplates",
    }),
  },
  "network volume": {
    "REST v2": restWay({
      at: (id) => `/v2/network-volumes/${id}`,
      update: networkVolumeOperations.updateNetworkVolume.in,
    }),
    "REST v1": restWay({
      at: (id) => `/v1/networkvolumes/${id}`,
      update: networkVolumeOperationsV1.updateNetworkVolume.in,
    }),
    GraphQL: graphWay({
      ...{ save: "updateNetworkVolume", input: "UpdateNetworkVolumeInput" },
      ...{ output: "NetworkVolume", list: "networkVolumes" },
    }),
  },
  secret: {
    "REST v2": restWay({
      at: (id) => `/v2/account/secrets/${id}`,
      update: secretOperations.updateSecret.in,
      // A secret without a description shows null, but the contract accepts only text: the empty text stands for none.
      forms: { description: (text) => text ?? "" },
    }),
  },
  cluster: { "REST v2": restWay({ at: (id) => `/v2/clusters/${id}`, update: clusterOperations.updateCluster.in }) },
};

/** Remembers every write. */
class NotingStore extends MemoryStore {
  readonly written: Write[] = [];

  override commit(writes: Write[]): Promise<StoredRecord[]> {
    this.written.push(...writes);
    return super.commit(writes);
  }
}

const wordOf = (write: Write) =>
  write.do === "insert" ? `inserts ${write.record.kind}` : `${write.do}es ${write.kind} ${JSON.stringify(write)}`;

const LARGE = {
  capacity: {
    ...{ vcpu: 2048, memoryMb: 8_000_000, diskGb: 1_000_000, ceilings: false, cuda: "12.8" },
    gpus: [{ type: "NVIDIA A40", count: 400, virtual: false }],
  },
};

interface Scene extends AsyncDisposable {
  world: PodWorld;
  /** Fails if `send` writes or starts anything, or if its answer is no success. */
  unchanged(what: string, send: () => Promise<string | undefined>, how?: { mayBeRefused: boolean }): Promise<void>;
}

async function setup(): Promise<Scene> {
  const store = new NotingStore();
  const world = await setupPods({ store, machine: LARGE, podPorts: undefined });
  return {
    world,
    async unchanged(what, send, { mayBeRefused } = { mayBeRefused: false }) {
      await world.settle();
      const [written, started] = [store.written.length, world.started.length];
      const refusal = await send();
      await world.settle();
      expect(
        {
          refusal: mayBeRefused ? undefined : refusal,
          written: store.written.slice(written).map(wordOf),
          started: world.started.slice(started),
        },
        `${what} with MILLRACE_TEST_SEED=${seed}`,
      ).toEqual({ refusal: undefined, written: [], started: [] });
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

/** Each field alone, all of them, and all of them with maps in another order. */
function parcels(fields: Fields): [string, Fields][] {
  const alone = Object.entries(fields).map(([name, value]): [string, Fields] => [name, { [name]: value }]);
  return [...alone, ["all", fields], ["all in another order", reordered(fields)]];
}

const within = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

async function roundTrips({ unchanged, world }: Scene, id: string, its: Record<string, Way>): Promise<void> {
  for (const [surface, way] of Object.entries(its)) {
    const shown = await way.read(world, id);
    expect(Object.keys(shown), `${surface} shows something that can be sent back`).not.toEqual([]);
    for (const [what, parcel] of parcels(shown))
      await unchanged(`${what} by ${surface}: ${JSON.stringify(parcel)}`, () => way.send(world, id, parcel));
    for (const [other, elsewhere] of Object.entries(its)) {
      if (elsewhere === way) continue;
      // The other surface may use another form under the same name. It may then refuse the value, but it must not change anything.
      for (const [what, parcel] of parcels(within(shown, elsewhere.takes)))
        await unchanged(
          `${what} of ${surface} by ${other}: ${JSON.stringify(parcel)}`,
          () => elsewhere.send(world, id, parcel),
          { mayBeRefused: true },
        );
    }
  }
}

const cases = Object.entries(makers).flatMap(([what, by]) =>
  Object.entries(by).map(([surface, make]) => [what as keyof typeof makers, surface, make] as const),
);

describe.each(cases)("a %s that was made by %s and is sent back", (what, _surface, make) => {
  test("is as it was, whichever surface read it", async () => {
    const random = new SeededRandom(seed);
    await using scene = await setup();
    for (let round = 0; round < ROUNDS; round++) {
      const id = await make(scene.world, random);
      await roundTrips(scene, id, ways[what]);
    }
  });
});

describe("a start command that was given as a line and is sent back as lists", () => {
  const LISTS = { dockerEntrypoint: [], dockerStartCmd: ["python", "run.py"] };

  test("restarts no Pod", async () => {
    await using scene = await setup();
    const { world, unchanged } = scene;
    const said = { name: "p", imageName: "host:/app", computeType: "CPU", dockerArgs: "python run.py" };
    const { id } = await called(world, "POST", "/v1/pods", said);
    await unchanged("lists", () => ways.Pod["REST v1"]!.send(world, id, LISTS));
    expect(world.started).toHaveLength(1);
  });

  test("reaches no endpoint of a template", async () => {
    await using scene = await setup();
    const { world, unchanged } = scene;
    const said = { name: "t", imageName: "host:/app", isServerless: true, dockerArgs: "python run.py" };
    const { id } = await called(world, "POST", "/v1/templates", said);
    const on = { name: "e", templateId: id, computeType: "CPU", workersMin: 1 };
    const { id: endpoint } = await called(world, "POST", "/v1/endpoints", on);
    await unchanged("lists", () => ways.template["REST v1"]!.send(world, id, LISTS));
    expect(await called(world, "GET", `/v1/endpoints/${endpoint}`)).toMatchObject({ templateId: id, version: 0 });
    expect(world.started).toHaveLength(1);
  });
});

test("the own container of an endpoint that is sent back as the template that it is shown as changes nothing", async () => {
  const random = new SeededRandom(seed);
  await using scene = await setup();
  const { "REST v1": byV1, GraphQL: byGraphql } = ways.template;
  const list = "endpoints";
  for (let round = 0; round < ROUNDS; round++) {
    const id = await makers.endpoint["REST v2"](scene.world, random);
    await roundTrips(scene, id, { "REST v1": byV1! });
    const shown = (await ways.endpoint.GraphQL!.read(scene.world, id)).template as Fields;
    for (const [what, parcel] of parcels(shown))
      await scene.unchanged(`${what} in ${list}: ${JSON.stringify(parcel)}`, () =>
        byGraphql!.send(scene.world, id, parcel),
      );
  }
});

describe("of an account", () => {
  const ACCOUNT = restWay({ at: () => "/v2/account", update: spendingOperations.updateAccount.in });
  const SSH = restWay({ at: () => "/v2/account/ssh-keys", method: "PUT", update: accountOperations.updateSshKeys.in });
  const SETTINGS = "pubKey notifyPodsStale notifyPodsGeneral notifyLowBalance notifyOther";
  const settings: Way = {
    takes: SETTINGS.split(" "),
    read: async (world) => (await ask(world, `{ myself { ${SETTINGS} } }`)).json.data.myself,
    async send(world, _id, input) {
      const document = "mutation ($input: UpdateUserSettingsInput) { updateUserSettings(input: $input) { id } }";
      const { json, text } = await ask(world, document, { variables: { input } });
      return json.errors ? text : undefined;
    },
  };
  const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@here";
  const states: [string, (world: PodWorld) => Promise<unknown>][] = [
    ["nothing was said", async () => undefined],
    [
      "all was said",
      async (world) => {
        const hook = { spendLimit: 12.5, spendWebhook: "https://hooks.example/secret/path?token=1" };
        await called(world, "PATCH", "/v2/account", hook);
        await called(world, "PUT", "/v2/account/ssh-keys", { keys: [KEY] });
        await settings.send(world, "", { notifyOther: false, notifyPodsStale: true } as Answered);
      },
    ],
  ];

  test.each(states)("where %s, what is shown and sent back changes nothing", async (_what, say) => {
    await using scene = await setup();
    await say(scene.world);
    for (const way of [ACCOUNT, SSH, settings]) await roundTrips(scene, "", { it: way });
  });
});
