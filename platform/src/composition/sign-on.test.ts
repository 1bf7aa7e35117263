/** Settings of single sign-on that contradict each other are refused at the start, each with what to do. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/process.ts";
import { realClock } from "../kernel/clock.ts";
import { settingsFrom } from "../settings/settings.ts";
import { openSignOn } from "./sign-on.ts";

const ISSUER = { MILLRACE_OIDC_ISSUER: "https://id.example.com" };
const WHOLE = { ...ISSUER, MILLRACE_OIDC_CLIENT_ID: "millrace", MILLRACE_OIDC_GROUPS: "a=operator" };
const parts = { clock: realClock, log: { warn() {} } };
const open = async (env: Record<string, string>) => openSignOn(settingsFrom(env), parts);

test.each([
  [{ MILLRACE_OIDC_CLIENT_ID: "x" }, "MILLRACE_OIDC_CLIENT_ID is set, but MILLRACE_OIDC_ISSUER is not"],
  [{ MILLRACE_PASSWORD_SIGN_IN: "off" }, "MILLRACE_PASSWORD_SIGN_IN=off needs MILLRACE_OIDC_ISSUER"],
  [ISSUER, "MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_CLIENT_ID"],
  [{ ...ISSUER, MILLRACE_OIDC_CLIENT_ID: "x" }, "MILLRACE_OIDC_ISSUER needs MILLRACE_OIDC_GROUPS"],
  [{ ...WHOLE, MILLRACE_OIDC_CLIENT_SECRET_FILE: "/nonexistent" }, "/nonexistent, named by"],
  [
    { ...WHOLE, MILLRACE_OIDC_CLIENT_SECRET_FILE: "/nonexistent", MILLRACE_OIDC_CLIENT_SECRET: "s" },
    "are both set: set one of them",
  ],
] as [Record<string, string>, string][])("%o is refused", async (env, why) => {
  await expect(open(env)).rejects.toThrow(why);
});

test("without an issuer there is none, and with all that it needs there is one, also with the secret in a file", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "secret");
  await writeFile(file, "a secret\n");
  expect(await open({})).toBeUndefined();
  expect(await open({ ...WHOLE, MILLRACE_OIDC_CLIENT_SECRET_FILE: file })).toMatchObject({
    ...{ rules: [{ group: "a", role: "owner" }], hours: 12, newPeople: true, label: "single sign-on" },
  });
});
