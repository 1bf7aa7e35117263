/** Terminals and links to files that a signed-in person asked for from the console's page: they end with the session. */
import { expect, test } from "vitest";
import { setupFiles } from "../../../tests/files-world.ts";
import { invited, signedInOwner } from "../../../tests/people.ts";
import { setupPods } from "../../../tests/pod-world.ts";
import { played, podTerminal, TerminalClient } from "../../../tests/terminal-client.ts";

test("a person opens a terminal from the console's page, and signing out ends it within a second", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const browser = await signedInOwner(world);
  const { status, json } = await browser.call("POST", podTerminal(id), { body: {} });
  expect(status).toBe(201);
  const program = played(world.running()[0]!);
  const url = `${world.url.replace(/^http/, "ws")}/v2/terminals/${json.ticket}`;
  const client = await new TerminalClient(url, { origin: world.url }).opened();
  await program;
  await browser.call("POST", "/v2/account/sign-out");
  await world.clock.advance(1000);
  expect(await client.told("exit")).toMatchObject({ signal: "SIGHUP" });
  expect(await client.closed).toBe(1001);
});

test("a person who only looks gets no ticket", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const browser = await invited(world, { role: "viewer" });
  expect((await browser.call("POST", podTerminal(id), { body: {} })).status).toBe(403);
});

test("a person downloads by a link, which ends with the session", async () => {
  await using world = await setupFiles();
  world.files.write("model.bin", "data");
  const browser = await signedInOwner(world);
  const files = `/v2/network-volumes/${world.volume}/files`;
  const { json } = await browser.call("POST", `${files}/links`, { body: { path: "model.bin" } });
  const { pathname, search } = new URL(json.url);
  // As a browser does for a download: without the header that only scripts of the page send.
  const follow = () => world.call("GET", pathname + search, { key: null });
  const answer = await follow();
  expect([answer.status, answer.text]).toEqual([200, "data"]);
  await browser.call("POST", "/v2/account/sign-out");
  expect((await follow()).status).toBe(401);
  const viewer = await invited(world, { role: "viewer" });
  expect((await viewer.call("GET", files)).json.files).toMatchObject([{ name: "model.bin" }]);
  expect((await viewer.call("GET", `${files}/content?path=model.bin`)).status).toBe(403);
  expect((await viewer.call("POST", `${files}/links`, { body: { path: "model.bin" } })).status).toBe(403);
});
