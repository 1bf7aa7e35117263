/** Interruptible Pods cost their spot price or their bid, wherever a price is shown or charged. */
import { expect, test } from "vitest";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { catalogFrom } from "../../catalog/catalog.ts";
import { installCatalog } from "../../catalog/compute.ts";

/** An A40 costs 0.44 USD per hour in the secure cloud, and 0.28 for an interruptible Pod. */
const RENT =
  "mutation ($input: PodRentInterruptableInput) { podRentInterruptable(input: $input) { id costPerHr machine { secureCloud currentPricePerGpu } } }";
const INPUT = { name: "box", imageName: "host:/app", gpuTypeId: "NVIDIA A40", gpuCount: 2, cloudType: "SECURE" };
const RESUME = `mutation ($input: PodBidResumeInput) { podBidResume(input: $input) { id costPerHr gpuCount } }`;
const HOUR_S = 3600;

const rent = async (world: PodWorld, said: object = {}) =>
  (await told(world, RENT, { input: { ...INPUT, ...said } })).podRentInterruptable;
const stop = async (world: PodWorld, id: string) => {
  await world.act(id, "stop");
  await world.settle();
};

/** What the account was charged for GPUs so far. */
async function charged(world: PodWorld): Promise<number> {
  const { json } = await world.call("GET", "/v2/billing/pods");
  return json.metadata.totals.gpuAmount;
}

async function pass(world: PodWorld, seconds: number) {
  await world.clock.advance(seconds * 1000);
  await world.settle();
}

test("v1: one that is interruptible costs the spot price, in its record and on the bill", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const body = { imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"], gpuCount: 2, interruptible: true };
  const { json } = await world.call("POST", "/v1/pods", { body });
  expect(json).toMatchObject({ interruptible: true, costPerHr: 0.56 });
  expect(json.adjustedCostPerHr).toBeGreaterThan(0.56);
  expect(json.adjustedCostPerHr).toBeLessThan(0.6);
  expect((await world.pod(json.id)).cost).toBe(0.56);
  await world.settle();
  await pass(world, HOUR_S);
  expect(await charged(world)).toBeCloseTo(0.56, 6);
});

test("GraphQL: what is bid is paid, and the spot price where nothing is bid", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const bidding = await rent(world, { bidPerGpu: 0.3 });
  expect(bidding).toMatchObject({ costPerHr: 0.6, machine: { secureCloud: true, currentPricePerGpu: 0.3 } });
  await world.settle();
  await pass(world, HOUR_S);
  expect(await charged(world)).toBeCloseTo(0.6, 6);
  await stop(world, bidding.id);
  expect(await rent(world, { name: "other" })).toMatchObject({ costPerHr: 0.56 });
});

test("a bid below the least is refused with the least, and nothing is made", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { message } = await refused(world, RENT, { input: { ...INPUT, bidPerGpu: 0.27 } });
  expect(message).toBe(
    "'bidPerGpu' is 0.27 USD per hour, and the least bid for 'NVIDIA A40' in the SECURE cloud is 0.28.",
  );
  expect((await world.call("GET", "/v2/pods")).json.pods).toEqual([]);
  expect(await rent(world, { bidPerGpu: 0.28 })).toMatchObject({ costPerHr: 0.56 });
});

test("of several types those are tried that the bid is enough for", async () => {
  const gpus = ["NVIDIA A40", "NVIDIA RTX A4000"].map((type) => ({ type, count: 2, virtual: false }));
  await using world = await setupPods({ machine: { capacity: { ...TWO_GPUS.capacity, gpus } } });
  const { gpuTypeId: _, ...rest } = INPUT;
  const input = { ...rest, gpuTypeIdList: ["NVIDIA A40", "NVIDIA RTX A4000"], bidPerGpu: 0.2 };
  const { id } = (await told(world, RENT, { input })).podRentInterruptable;
  expect((await world.pod(id)).gpu.id).toBe("NVIDIA RTX A4000");
  const low = await refused(world, RENT, { input: { ...input, name: "low", bidPerGpu: 0.15 } });
  expect(low.message).toContain("the least bid for 'NVIDIA RTX A4000' in the SECURE cloud is 0.16.");
});

test("ALL clouds: the secure one, unless the bid or the ceiling is enough in the other alone", async () => {
  const gpus = [{ type: "NVIDIA GeForce RTX 4090", count: 4, virtual: false }];
  await using world = await setupPods({ machine: { capacity: { ...TWO_GPUS.capacity, gpus } } });
  const said = { gpuTypeId: "NVIDIA GeForce RTX 4090", gpuCount: 1, cloudType: "ALL" };
  expect(await rent(world, { ...said, name: "a", bidPerGpu: 0.35 })).toMatchObject({ machine: { secureCloud: true } });
  expect(await rent(world, { ...said, name: "b", bidPerGpu: 0.2 })).toMatchObject({
    ...{ costPerHr: 0.2, machine: { secureCloud: false } },
  });
  const create =
    "mutation ($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { costPerHr } }";
  const input = { ...INPUT, ...said, name: "c", deployCost: 0.34 };
  expect((await told(world, create, { input })).podFindAndDeployOnDemand.costPerHr).toBe(0.34);
});

test("podBidResume: another bid is paid from the start on; one below the least leaves it stopped", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await rent(world, { bidPerGpu: 0.3, gpuCount: 1 });
  await world.settle();
  await stop(world, id);
  const low = await refused(world, RESUME, { input: { podId: id, bidPerGpu: 0.1, gpuCount: 1 } });
  expect(low.message).toContain("the least bid for 'NVIDIA A40' in the SECURE cloud is 0.28.");
  expect((await world.pod(id)).status).toBe("EXITED");
  const before = await charged(world);
  const { podBidResume } = await told(world, RESUME, { input: { podId: id, bidPerGpu: 0.4, gpuCount: 2 } });
  expect(podBidResume).toEqual({ id, costPerHr: 0.8, gpuCount: 2 });
  await world.settle();
  await pass(world, HOUR_S);
  expect((await charged(world)) - before).toBeCloseTo(0.8, 6);
});

test("one that gives way to nobody bids nothing, and no start takes more GPUs than its cloud sells", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ name: "box", image: "host:/app", gpu: { id: "NVIDIA A40", count: 1 } });
  await stop(world, id);
  const bid = await refused(world, RESUME, { input: { podId: id, bidPerGpu: 0.4, gpuCount: 1 } });
  expect(bid.message).toContain("is not interruptible");
  const many = await refused(world, `mutation { podResume(input: {podId: "${id}", gpuCount: 11}) { id } }`);
  expect(many.message).toContain("'gpuCount' is 11, and a Pod in the SECURE cloud has at most 10 of 'NVIDIA A40'.");
});

test("a type without a spot price costs what others pay, and no spot price is above that", async () => {
  const price = (said: object) => ({ gpus: { "NVIDIA A40": { price: { secure: 0.44, ...said } } } });
  const cost = async (said: object) => {
    await using world = await setupPods({ machine: TWO_GPUS });
    using _ = installCatalog(catalogFrom(JSON.stringify(price(said))));
    return (await rent(world, { gpuCount: 1 })).costPerHr;
  };
  expect(await cost({ secure: 0.2 })).toBe(0.2);
  expect(await cost({ secureSpot: 0.1 })).toBe(0.1);
});
