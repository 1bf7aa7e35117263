/** A world that already holds one secret, for the tests of its update. */
import { setup } from "./world.ts";

export async function withSecret(options: Parameters<typeof setup>[0] = {}) {
  const world = await setup(options);
  const created = await world.call("POST", "/v2/account/secrets", {
    body: { name: "token", value: "first value", description: "first description" },
  });
  const path = `/v2/account/secrets/${created.json.id}`;
  return {
    world,
    path,
    secret: created.json,
    update: (body: unknown, more = {}) => world.call("PATCH", path, { body, ...more }),
    value: () => world.services.secrets.reveal(world.owner.account, "token"),
    stored: async () => (await world.call("GET", path)).json,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
