/** The page for trying queries: its examples run as shown. */
import { expect, test } from "vitest";
import { dataOf } from "../../../tests/graphql.ts";
import { setup } from "../../../tests/world.ts";
import { examples } from "./page.ts";

test.each(Object.entries(examples))("the example '%s' runs without variables", async (_name, query) => {
  await using world = await setup();
  for (const answer of Object.values(await dataOf(world, query))) expect(answer).toBeTruthy();
});
