/** An account that tries to give itself more rights than it has. */
import type { Answer } from "../../world.ts";
import type { Scene, Stage } from "../stage.ts";

const KEYS = "/v2/account/api-keys";
const SECRETS = "/v2/account/secrets";

export const scenes: Scene[] = [
  {
    name: "an account exempts itself from rate limits",
    async attack({ hostile }) {
      expectStatus(403, await hostile.call("POST", KEYS, { scopes: ["all"], exempt: true }));
    },
  },
  {
    name: "a key for one endpoint takes hold of its account",
    async attack(stage) {
      const { hostile } = stage;
      const secret = (await hostile.call("POST", SECRETS, { name: "scene", value: "untouched" })).json.id;
      const endpoint = await stage.hostileEndpoint("echo", { workers: { min: 0, max: 0 } });
      const narrow = (await hostile.call("POST", KEYS, { scopes: ["all"], endpoints: [endpoint] })).json;
      const call = callWith(stage, narrow.key);
      expectStatus(403, await call("PATCH", `${SECRETS}/${secret}`, { value: "taken" }));
      expectStatus(403, await call("DELETE", `${KEYS}/${narrow.id}`));
      expectStatus(403, await call("POST", KEYS, { scopes: ["all"] }));
      expectStatus(204, await hostile.call("DELETE", `${KEYS}/${narrow.id}`));
      expectStatus(204, await hostile.call("DELETE", `${SECRETS}/${secret}`));
      await stage.remove(endpoint);
    },
  },
];

const callWith =
  ({ server }: Stage, key: string) =>
  (method: string, path: string, body?: unknown) =>
    server.call(method, path, { key, body });

function expectStatus(expected: number, { status, text }: Answer): void {
  if (status !== expected) throw new Error(`answered ${status}, not ${expected}: ${text}`);
}
