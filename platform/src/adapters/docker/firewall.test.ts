/** The rules around containers, as text. */
import { expect, test } from "vitest";
import { INTERNET_ALONE } from "../../ports/compute/egress.ts";
import { containerRules, type Wall } from "./firewall.ts";

const WALL: Wall = {
  bridge: "mr-0123",
  groups: "mg0123",
  gateway: "172.18.0.1",
  linkPorts: [7_420],
  egress: INTERNET_ALONE,
  published: { first: 25_000, last: 29_999 },
  isMadeLater: false,
};
const rules = (wall: Partial<Wall> = {}) => containerRules("millrace_0123", { ...WALL, ...wall });

test("the machine is reached at the link's port, and where it is itself asked for work or names", () => {
  const egress = {
    ...INTERNET_ALONE,
    doors: [{ address: "192.168.1.5", port: 443 }],
    nameServers: ["192.168.1.1", "fd00::1"],
  };
  const [input] = rules({ egress }).split("chain forward") as [string];
  const accepted = [
    'iifname "mr-0123" ip daddr 172.18.0.1 tcp dport 7420 accept',
    'iifname "mr-0123" ip daddr 192.168.1.5 tcp dport 443 accept',
    'iifname "mr-0123" ip daddr 192.168.1.1 meta l4proto { tcp, udp } th dport 53 accept',
    'iifname "mr-0123" ip6 daddr fd00::1 meta l4proto { tcp, udp } th dport 53 accept',
  ];
  for (const rule of accepted) expect(input.indexOf(rule)).toBeLessThan(input.indexOf('iifname "mr-0123" reject'));
  for (const rule of accepted) expect(input).toContain(rule);
});

test("special ranges of IPv4 and IPv6 are refused, after what the operator lets through", () => {
  const text = rules({ egress: { ...INTERNET_ALONE, reachable: ["10.9.0.0/16", "fd00::/8"] } });
  for (const one of ["ip daddr 10.9.0.0/16 accept", "ip6 daddr fd00::/8 accept"])
    expect(text.indexOf(one)).toBeLessThan(text.indexOf("100.64.0.0/10"));
  expect(text).toMatch(/ip6 daddr \{ ::\/3, .* \} reject/);
});

test("the bridges of groups lead nowhere", () => {
  const [input, forward] = rules().split("chain forward") as [string, string];
  expect(input).toContain('iifname "mg0123*" reject');
  expect(forward).toContain('iifname "mg0123*" oifname != "mg0123*" reject');
  expect(forward).toContain('iifname != "mg0123*" oifname "mg0123*" reject');
});

test("before the link is open nothing of the machine is reached", () => {
  expect(rules({ linkPorts: [] })).not.toContain("dport");
});
