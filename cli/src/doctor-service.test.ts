/** What `millrace doctor` says about the service, from what systemd shows. */
import { expect, test } from "vitest";
import { propertiesIn, serviceOf } from "./doctor-service.ts";

const RUNNING = {
  LoadState: "loaded",
  ActiveState: "active",
  SubState: "running",
  NRestarts: "0",
  KillMode: "process",
  Delegate: "yes",
  User: "",
};

test("systemd's lines are read, also values with an equals sign", () => {
  expect(propertiesIn("LoadState=loaded\nUser=\nResult=a=b\n")).toEqual({
    LoadState: "loaded",
    User: "",
    Result: "a=b",
  });
});

test.each([
  ["a service that runs", {}, { state: "ok", says: "it runs as root" }],
  [
    "one of an own user, which keeps nothing",
    { User: "millrace", KillMode: "mixed", Delegate: "no" },
    { state: "ok", says: "it runs as millrace" },
  ],
  ["no service", { LoadState: "not-found" }, { state: "ok" }],
  ["a broken unit", { LoadState: "bad-setting" }, { state: "fail" }],
  [
    "a failed one",
    { ActiveState: "failed", Result: "exit-code" },
    { state: "fail", says: "it has failed (exit-code)" },
  ],
  [
    "one that cannot start, while systemd waits for its next try",
    { ActiveState: "activating", SubState: "auto-restart", Result: "exit-code", NRestarts: "12" },
    {
      state: "fail",
      says: expect.stringContaining("again and again (12 times"),
      mend: expect.stringContaining("journalctl"),
    },
  ],
  [
    "a stopped one",
    { ActiveState: "inactive", SubState: "dead" },
    { state: "warn", mend: "Start it: sudo systemctl start millrace" },
  ],
  ["one that starts again and again", { NRestarts: "7" }, { state: "warn" }],
  ["one whose restarts end Pods", { KillMode: "control-group" }, { state: "warn" }],
  ["one that cannot limit programs", { Delegate: "no" }, { state: "warn" }],
])("%s", (_, change, expected) => {
  expect(serviceOf({ ...RUNNING, ...change })).toMatchObject(expected);
});
