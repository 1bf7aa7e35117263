/** The many endpoints of one account all want workers at once, of a program that does not exist. */
import { eachOf } from "../../../src/kernel/bounded.ts";
import { askAgainAndAgain, expectStatus } from "../callers.ts";
import type { Scene } from "../stage.ts";

const ENDPOINTS = 40;
const AT_ONCE = 8;
const ATTACK_MS = 1000;

export const scenes: Scene[] = [
  {
    name: "dozens of endpoints want workers that cannot start",
    async attack(stage) {
      const party = await stage.patient();
      const made: string[] = [];
      await eachOf([...Array(ENDPOINTS).keys()], AT_ONCE, async (n) => {
        const more = { cmd: ["nothing"], workers: { min: n % 2, max: 3 } };
        made.push(await stage.hostileEndpoint("many", more, party));
      });
      let turn = 0;
      await askAgainAndAgain(AT_ONCE, ATTACK_MS, () =>
        expectStatus([200], party.call("POST", `/v2/${made[turn++ % ENDPOINTS]}/run`, { input: {} })),
      );
      await eachOf(made, AT_ONCE, (id) => expectStatus([204], party.call("DELETE", `/v2/serverless/${id}`)));
    },
  },
];
