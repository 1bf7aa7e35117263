/** Fingerprints are those that ssh-keygen shows, so that a person recognises the key. */
import { expect, test } from "vitest";
import { readSshLine } from "./ssh-line.ts";

const LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@home desk";

test("a line has a type, a comment and a fingerprint", async () => {
  expect(await readSshLine(LINE)).toEqual({
    type: "ssh-ed25519",
    comment: "ada@home desk",
    fingerprint: "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA",
  });
});

test("a line that is no key has no fingerprint", async () => {
  expect(await readSshLine("ssh-ed25519 %%%")).toEqual({
    type: "ssh-ed25519",
    comment: undefined,
    fingerprint: undefined,
  });
});
