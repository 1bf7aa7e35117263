/** Refusals name fields in the words of a flat surface. */
import { expect, test } from "vitest";
import { inFlatWords } from "./flat-words.ts";
import { isProblem, problem } from "./problem.ts";

const fields = {
  imageName: { says: ["image"] },
  "template.ports": { says: ["ports"] },
  name: { says: ["name"] },
  volumeInGb: { says: ["mounts.persistent.size"] },
  workersMin: { says: ["workers.min"] },
};

async function said(detail: string, errors?: string[]) {
  const refused = inFlatWords(fields, async () => {
    throw problem("invalid", detail, errors && { errors });
  });
  const refusal = await refused().catch((error: unknown) => error);
  if (!isProblem(refusal)) throw refusal;
  return [refusal.code, refusal.detail, refusal.errors];
}

test("a field is called as the dialect has it, in texts and in places", async () => {
  expect(
    await said("'workers.min' is larger.", ["$.image: must not be empty", "$: property 'image' is required"]),
  ).toEqual([
    "invalid",
    "'workersMin' is larger.",
    ["$.imageName: must not be empty", "$: property 'imageName' is required"],
  ]);
});

test("an object is called by what says a part of it, and something within by its own name", async () => {
  expect((await said("'mounts.persistent' goes with GPUs, 'ports' do not."))[1]).toBe(
    "'volumeInGb' goes with GPUs, 'ports' do not.",
  );
});

test("whatever is no field stays as it is", async () => {
  const text = "There is no GPU type 'NVIDIA Z', no 'house', and 'name' is taken.";
  expect((await said(text))[1]).toBe(text);
});

test("what is no refusal goes on as it is", async () => {
  const fault = new Error("kaboom");
  await expect(inFlatWords(fields, () => Promise.reject(fault))()).rejects.toBe(fault);
});
