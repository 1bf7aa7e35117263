/** The endpoints that a node has in memory: what another node changed is read, also after the store was away. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { InterceptedStore } from "../../../../tests/world.ts";
import { EndpointBook } from "./endpoint-book.ts";

test("endpoints that could not be read are read at the next look, and not a minute later", async () => {
  const store = new InterceptedStore();
  await using world = await setupFleet({ store });
  const { endpoints } = world.services;
  const book = new EndpointBook({ endpoints, clock: world.clock });
  store.beforeRead = () => {
    throw new Error("no answer");
  };
  await expect(book.refresh()).rejects.toThrow("no answer");
  store.beforeRead = () => {};
  await book.refresh();
  expect(book.known(world.endpoint)?.doc.name).toBe("echo");
});
