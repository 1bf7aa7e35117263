/** A command for the master key that fails is named, with what it said and what to do. */
import { expect, test } from "vitest";
import { realRandom } from "../../kernel/random.ts";
import { loadMasterKeys } from "./master-keys.ts";

const keysOf = (command: string) => loadMasterKeys({ command, file: "/nowhere" }, realRandom);

test.each([
  ["exit 3", /^the command of MILLRACE_MASTER_KEY_COMMAND ended with status 3: run it by hand as the server's user$/],
  [
    "echo key; echo one >&2; echo sealed vault >&2; false",
    /COMMAND ended with status 1, saying 'sealed vault': run it/,
  ],
  ["no-such-program get key", /COMMAND ended with status 127, saying '.*no-such-program: not found': run it by hand/],
])("%s", async (command, why) => {
  await expect(keysOf(command)).rejects.toThrow(why);
});

test("a command that prints a key is good, whatever it says beside", async () => {
  const key = Buffer.alloc(32, 7);
  expect(await keysOf(`echo looking >&2; echo ${key.toString("base64")}`)).toEqual([key]);
});
