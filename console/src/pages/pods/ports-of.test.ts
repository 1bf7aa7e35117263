/** Ports of a Pod: what was asked for is always shown, with its address once that is known. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { expect, test } from "vitest";
import { portsOf } from "./ports-of.ts";

const asked = { ports: ["8080/http", "5432/tcp"] };

test("a Pod that does not run shows the ports that it asks for, and when they are known", () => {
  expect(portsOf({ ...asked, status: "EXITED", runtime: null })).toEqual([
    { number: 8080, type: "http", address: undefined, missing: "Known once it runs" },
    { number: 5432, type: "tcp", address: undefined, missing: "Known once it runs" },
  ]);
});

test("a Pod that runs shows where each is reached", () => {
  const runtime = {
    ports: [
      { private: 8080, public: null, type: "http", ip: null, url: "http://p-8080.example/" },
      { private: 5432, public: 21156, type: "tcp", ip: "192.0.2.2" },
    ],
  } as Pod["runtime"];
  const [http, tcp] = portsOf({ ...asked, status: "RUNNING", runtime });
  expect(http!.address).toBe("http://p-8080.example/");
  expect(tcp!.address).toBe("192.0.2.2:21156");
});
