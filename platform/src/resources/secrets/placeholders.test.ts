/** Placeholders: what replaces them at a boot, and why a boot fails. */
import { expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";
import { resolveEnv, UnresolvedEnv } from "./placeholders.ts";

const KIB = 1024;
const secrets: Record<string, string> = {
  hub: "hf_value",
  "a/b.c-d": "slashed",
  $: "never",
  tricky: "$& {{ MILLRACE_SECRET_hub }} $1",
  nul: "be\0fore",
  large: "x".repeat(128 * KIB + 1),
  half: "y".repeat(64 * KIB),
  full: "z".repeat(128 * KIB - "VARIABLE=\0".length),
};

const asked: string[] = [];
const resolve = (env: Record<string, string>) =>
  resolveEnv("acc", env, async (account, name) => {
    asked.push(`${account}/${name}`);
    return secrets[name];
  });

const one = async (text: string) => (await resolve({ VARIABLE: text })).VARIABLE;

async function refusal(env: Record<string, string>): Promise<string> {
  const error = await resolve(env).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnresolvedEnv);
  return (error as Error).message;
}

test.each([
  ["{{ MILLRACE_SECRET_hub }}", "hf_value"],
  ["{{ RUNPOD_SECRET_hub }}", "hf_value"],
  ["{{MILLRACE_SECRET_hub}}", "hf_value"],
  ["{{   MILLRACE_SECRET_hub\t}}", "hf_value"],
  ["Bearer {{ MILLRACE_SECRET_hub }}!", "Bearer hf_value!"],
  ["{{ MILLRACE_SECRET_hub }}:{{RUNPOD_SECRET_a/b.c-d}}{{ MILLRACE_SECRET_hub }}", "hf_value:slashedhf_value"],
])("%s becomes %s", async (text, value) => {
  expect(await one(text)).toBe(value);
});

test.each([
  ["plain text"],
  [""],
  ["{{ MILLRACE_SECRET_ }}"],
  ["{{ MILLRACE_SECRET_$ }}"],
  ["{ MILLRACE_SECRET_hub }"],
  ["{{ millrace_secret_hub }}"],
  ["{{ OTHER_SECRET_hub }}"],
  ["{{ MILLRACE_SECRET_hub }"],
])("%j is no placeholder and stays as it is", async (text) => {
  expect(await one(text)).toBe(text);
});

test("a value is put in as it is, whatever it looks like", async () => {
  expect(await one("<{{ MILLRACE_SECRET_tricky }}>")).toBe(`<${secrets.tricky}>`);
});

test("every variable is answered, and a secret is asked for once and of its own account", async () => {
  asked.length = 0;
  const env = { A: "{{ MILLRACE_SECRET_hub }}", B: "{{ RUNPOD_SECRET_hub }}{{ MILLRACE_SECRET_half }}", C: "c" };
  expect(await resolve(env)).toEqual({ A: "hf_value", B: `hf_value${secrets.half}`, C: "c" });
  expect(asked).toEqual(["acc/hub", "acc/half"]);
});

test("names of variables are kept, also those that an object has by itself", async () => {
  const env = Object.fromEntries([
    ["__proto__", "{{ MILLRACE_SECRET_hub }}"],
    ["constructor", "c"],
  ]);
  expect(Object.entries(await resolve(env))).toEqual([
    ["__proto__", "hf_value"],
    ["constructor", "c"],
  ]);
});

test("the longest value that a variable can hold is taken", async () => {
  expect(await one("{{ MILLRACE_SECRET_full }}")).toBe(secrets.full);
});

test.each([
  [{ A: "{{ MILLRACE_SECRET_missing }}" }, 'secret "missing" does not exist'],
  [{ A: "{{ RUNPOD_SECRET_Hub }}" }, 'secret "Hub" does not exist'],
  [{ A: "{{ MILLRACE_SECRET_nul }}" }, 'secret "nul" holds a NUL character, which no variable can'],
  [
    { A: "{{ MILLRACE_SECRET_large }}" },
    'secret "large" is longer than 128 KiB, which is the most that a variable can hold',
  ],
  [
    { A: "{{ MILLRACE_SECRET_half }}{{ MILLRACE_SECRET_half }}{{ MILLRACE_SECRET_hub }}" },
    'variable "A" is longer than 128 KiB with secret "half" and secret "hub" in it',
  ],
  [
    { LONGER_NAME: "{{ MILLRACE_SECRET_full }}" },
    'variable "LONGER_NAME" is longer than 128 KiB with secret "full" in it',
  ],
  [{ A: "p".repeat(128 * KIB) }, 'variable "A" is longer than 128 KiB'],
])("a boot fails with the reason and without a value (%#)", async (env, reason) => {
  expect(await refusal(env)).toBe(reason);
});

test("bytes are counted, not characters", async () => {
  expect(await refusal({ A: "€".repeat(50 * KIB) })).toBe('variable "A" is longer than 128 KiB');
});

test("a rotated secret arrives with the next boot, and another account's not at all", async () => {
  await using world = await setup();
  const { secrets } = world.services;
  const body = { name: "token", value: "first" };
  const { id } = (await world.call("POST", "/v2/account/secrets", { body })).json;
  const boot = (account: string) =>
    resolveEnv(account, { T: "{{ MILLRACE_SECRET_token }}" }, (of, name) => secrets.reveal(of, name));
  expect(await boot(world.owner.account)).toEqual({ T: "first" });
  await world.call("PATCH", `/v2/account/secrets/${id}`, { body: { value: "second" } });
  expect(await boot(world.owner.account)).toEqual({ T: "second" });
  await expect(boot("another")).rejects.toThrow('secret "token" does not exist');
});
