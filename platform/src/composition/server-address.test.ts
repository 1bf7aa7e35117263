/** Workers are told the machine's public address, and a server that others reach is not taken for one of a single person. */
import { expect, test } from "vitest";
import { isOnlyHere, publicIpIn } from "./server-address.ts";

test.each([
  ["http://203.0.113.5:7420", "203.0.113.5"],
  ["https://203.0.113.5", "203.0.113.5"],
  ["http://[2001:db8::1]:7420", "2001:db8::1"],
  ["http://10.0.0.5:7420", "10.0.0.5"],
  ["https://gpu.example.org", undefined],
  ["http://127.0.0.1:7420", undefined],
  ["http://[::1]:7420", undefined],
  ["http://localhost:7420", undefined],
])("of %s it is %s", (url, ip) => expect(publicIpIn(url)).toBe(ip));

test.each([
  ["127.0.0.1", undefined, true],
  ["::1", "http://localhost:7420", true],
  ["localhost", "http://[::1]:7420", true],
  ["127.0.0.1", "https://cloud.example.org", false],
  ["127.0.0.1", "https://127.0.0.1.example.org", false],
  ["127.0.0.1", "http://10.0.0.5", false],
  ["0.0.0.0", undefined, false],
  ["0.0.0.0", "http://127.0.0.1:7420", false],
  ["127.example.org", undefined, false],
])("a server on %s with the public URL %s is reached by its machine alone: %s", (host, publicUrl, isAlone) =>
  expect(isOnlyHere({ host, publicUrl })).toBe(isAlone),
);
