/** An account that submits, lists and reads jobs as fast as it is answered. */
import { askAgainAndAgain, expectStatus } from "../callers.ts";
import { CPU, type Scene, type Stage } from "../stage.ts";
import { worstValues } from "../worst-bodies.ts";

const ATTACK_MS = 1500;
/** In characters. As text they take up to 9.3 MB. */
const LARGE = 7_000_000;
const OK = [200];
const LARGE_VALUES = ["short members", "long text"].map((kind) => worstValues[kind]!);

/** Runs on an endpoint whose jobs nobody does. */
const scene = (name: string, attack: (stage: Stage, endpoint: string) => Promise<unknown>): Scene => ({
  name,
  async attack(stage) {
    const body = { name: "jobs", image: "nobody/nothing:1", workers: { min: 0, max: 0 }, ...CPU };
    const { status, json, text } = await stage.hostile.call("POST", "/v2/serverless", body);
    if (status !== 201) throw new Error(`the hostile endpoint was not made: ${text}`);
    await attack(stage, json.id);
    await stage.remove(json.id);
  },
});

const submit = ({ hostile }: Stage, endpoint: string) =>
  expectStatus(OK, hostile.call("POST", `/v2/${endpoint}/run`, { input: {} }));

export const scenes: Scene[] = [
  scene("jobs are submitted as fast as can be", (stage, endpoint) =>
    askAgainAndAgain(16, ATTACK_MS, () => submit(stage, endpoint)),
  ),
  scene("bodies of 9 MB come side by side", async ({ server, hostile }, endpoint) => {
    const send = async (value: string) => {
      const headers = { authorization: hostile.key, "content-type": "application/json" };
      const body = `{"input":{"v":${value}}}`;
      const answer = await fetch(`${server.url}/v2/${endpoint}/run`, { method: "POST", headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    const values = LARGE_VALUES.map((make) => make(LARGE));
    await Promise.all([...values, ...values].map((value) => expectStatus(OK, send(value))));
  }),
  scene("long lists of jobs are read with every filter", async (stage, endpoint) => {
    await askAgainAndAgain(16, ATTACK_MS / 3, () => submit(stage, endpoint));
    const filters = ["limit=100", "status=IN_QUEUE", "status=COMPLETED", "status=FAILED&limit=100"];
    let turn = 0;
    await askAgainAndAgain(8, ATTACK_MS, () => {
      const filter = filters[turn++ % filters.length];
      return expectStatus(OK, stage.hostile.call("GET", `/v2/${endpoint}/requests?${filter}`));
    });
  }),
  scene("status and stream of a job are asked for by many", async ({ hostile }, endpoint) => {
    const { json } = await hostile.call("POST", `/v2/${endpoint}/run`, { input: {} });
    const ask = (what: string) => () => expectStatus(OK, hostile.call("GET", `/v2/${endpoint}/${what}/${json.id}`));
    await Promise.all([askAgainAndAgain(8, ATTACK_MS, ask("status")), askAgainAndAgain(8, ATTACK_MS, ask("stream"))]);
  }),
];
