/** Workers are told the machine's public address. */
import { expect, test } from "vitest";
import { publicIpIn } from "./server-address.ts";

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
