/** Addresses: every special address is recognised, in every form in which it can be written. */
import { expect, test } from "vitest";
import { isSpecial, parseRanges, within } from "./addresses.ts";

test.each([
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254"],
  ...["172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1"],
  ...["198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"],
  ...["::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "64:ff9b::7f00:1"],
  ...["64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1"],
  ...["2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1"],
  ...["fe80::1", "fec0::1", "ff02::1"],
])("%s is special", (address) => {
  expect(isSpecial(address)).toBe(true);
});

test.each([
  ...[
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
  ],
  ...["2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::1", "2620:fe::fe"],
])("%s is not", (address) => {
  expect(isSpecial(address)).toBe(false);
});

test("an operator's ranges are those and no more", () => {
  const isIn = within(parseRanges("10.1.0.0/16, 192.168.1.5, fd00:1::/32"));
  const asked = ["10.1.2.3", "10.2.0.1", "192.168.1.5", "192.168.1.6", "fd00:1::5", "fd00:2::5", "8.8.8.8"];
  expect(asked.map(isIn)).toEqual([true, false, true, false, true, false, false]);
  expect(["127.0.0.1", "::1"].map(within(parseRanges("all")))).toEqual([true, true]);
  expect(within(parseRanges(""))("127.0.0.1")).toBe(false);
});

test.each(["10.0.0.0/33", "10.0.0", "::/129", "private", "10.0.0.0/8/8", "-1.0.0.0"])("'%s' is no range", (text) => {
  expect(() => parseRanges(text)).toThrow("must be 'all', or addresses and ranges");
});
