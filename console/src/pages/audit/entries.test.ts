/** Entries of the audit log read as sentences and lead to what they are about. */
import { expect, test } from "vitest";
import { actorText, fromOf, operationText, pageOf } from "./entries.ts";

test.each([
  ["pods", "p1", "/pods/p1"],
  ["network-volumes", "v1", "/volumes/v1"],
  ["pods", null, "/pods"],
  ["api-keys", "k1", "/account/keys"],
  ["nodes", "n1", undefined],
])("%s %s leads to %s", (type, id, to) => {
  expect(pageOf({ type, id })).toBe(to);
});

test.each([
  ["createPod", null, "Create Pod"],
  ["podAction", "stop", "Pod action: stop"],
  ["updateNetworkVolume", null, "Update network volume"],
  ["createS3Key", null, "Create s3 key"],
])("%s %s is %j", (operation, action, text) => {
  expect(operationText({ operation, action }).toLowerCase()).toBe(text.toLowerCase());
});

test.each([
  [{ type: "key", id: "k1", name: "ci" }, "API key ci"],
  [{ type: "key", id: "k1", name: null }, "API key k1"],
  [{ type: "person", id: "u1", name: "ada@example.com" }, "ada@example.com"],
  [{ type: "system", id: null, name: null }, "Millrace"],
])("%j is %j", (actor, text) => {
  expect(actorText({ actor } as never)).toBe(text);
});

test("a range begins on a whole minute", () => {
  const now = Date.parse("2026-03-01T12:34:56.789Z");
  expect(fromOf("1h", now)).toBe("2026-03-01T11:34:00.000Z");
  expect(fromOf("all", now)).toBeUndefined();
});
