/** Which addresses are loopback addresses. All other spellings are refused, since no name is ever resolved. */
import { expect, test } from "vitest";
import { dialFirst, loopbackAddress, placesOf } from "./loopback.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["127.255.0.9", "127.255.0.9"],
  ["::1", "::1"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["0000::0001", "::1"],
  ["::ffff:127.0.0.1", "127.0.0.1"],
])("%s is one", (host, address) => expect(loopbackAddress(host)).toBe(address));

test.each([
  "",
  "localhost",
  "0.0.0.0",
  "::",
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "::ffff:7f00:1",
  "::127.0.0.1",
  "64:ff9b::127.0.0.1",
  "1::1",
  "fe80::1",
  "::1%eth0",
  "::1:1",
  "::11",
  "10.0.0.1",
  "128.0.0.1",
  "127.1",
  "0127.0.0.1",
  "2130706433",
  "0x7f000001",
  "127.0.0.1.evil.example",
  "127.0.0.1 ",
  "127.0.0.1\n",
])("%j is none", (host) => expect(loopbackAddress(host)).toBeUndefined());

test("localhost is both addresses, and what the first said is told where neither answers", async () => {
  expect(placesOf({ port: 80 }).map(({ host }) => host)).toEqual(["127.0.0.1", "::1"]);
  const refuse = async ({ host }: { host: string }) => Promise.reject(new Error(`nobody at ${host}`));
  await expect(dialFirst({ port: 80 }, refuse)).rejects.toThrow("nobody at 127.0.0.1");
  await expect(dialFirst({ port: 80, host: "::1" }, refuse)).rejects.toThrow("nobody at ::1");
  for (const port of [0, -1, 65_536, 1.5]) await expect(dialFirst({ port }, refuse)).rejects.toThrow("no port");
  await expect(dialFirst({ port: 80, host: "10.0.0.1" }, refuse)).rejects.toThrow("no address of a loopback");
});
