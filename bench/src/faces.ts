/** Row 18: a list of 500 Pods by GraphQL and by REST v1, each compared with the same list by REST v2. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as stay } from "node:timers/promises";
import { startMillrace } from "./millrace.ts";
import { now, shown, summary, type Waits } from "./start-waits.ts";
import { amount, type Line } from "./table.ts";

export interface FacesResult {
  pods: number;
  restV2: Waits;
  restV1: Waits;
  graphql: Waits;
}

interface FacesOptions {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

const PODS = 500;
const FEW_PODS = 20;
const READS = 60;
const FEW_READS = 5;
const AT_ONCE = 4;
const LOOK_MS = 500;
const TRIES = 600;

/** The fields that the public Python client selects. */
const QUERY = `query { myself { pods {
  id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange machineId memoryInGb name podType
  port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath runtime { ports { ip isIpPublic privatePort publicPort type } }
  machine { gpuDisplayName }
} } }`;

export async function measureFaces({ folder, quick, say }: FacesOptions): Promise<FacesResult> {
  const data = await mkdtemp(join(folder, "faces-data-"));
  try {
    // Emulated Pods take no CPU while lists are read, and need no room on this machine.
    await using running = await startMillrace(data, { compute: "emulated" });
    const { port, headers } = running.submit;
    const pods = quick ? FEW_PODS : PODS;
    const server = new FacesServer(`http://127.0.0.1:${port}`, headers);
    await server.fill(pods);
    await server.allRun(pods);
    const result = { pods, ...(await server.measure(quick ? FEW_READS : READS, pods)) };
    for (const face of ["restV2", "restV1", "graphql"] as const) say(`  ${pods} Pods, ${face}: ${shown(result[face])}`);
    return result;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

interface PodList {
  pods: { status: string }[];
}

interface Answer {
  body: string;
  /** From the request to the last byte of the answer. What a client does with it after that is not the server's. */
  waitMs: number;
}

class FacesServer {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

  constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.#headers = { ...headers, "content-type": "application/json" };
  }

  async fill(pods: number): Promise<void> {
    const container = { image: "example/program", env: { A: "1", B: "2" }, ports: ["8888/http"] };
    const body = { ...container, cpu: { id: "cpu3c", vcpuCount: 2 } };
    for (let made = 0; made < pods; made += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) => this.#ask("/v2/pods", { ...body, name: `p${made + i}` })),
      );
  }

  async allRun(pods: number): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const { pods: all } = JSON.parse((await this.#ask(`/v2/pods?limit=${pods}`)).body) as PodList;
      if (all.every(({ status }) => status === "RUNNING")) return;
      await stay(LOOK_MS);
    }
    throw new Error("not all Pods of the emulator run");
  }

  /** The surfaces take turns, so that all of them meet the same load on the machine. */
  async measure(reads: number, pods: number): Promise<Omit<FacesResult, "pods">> {
    const waits = { restV2: [] as number[], restV1: [] as number[], graphql: [] as number[] };
    const faces = {
      restV2: async () => {
        const { body, waitMs } = await this.#ask(`/v2/pods?limit=${pods}`);
        return { listed: (JSON.parse(body) as PodList).pods, waitMs };
      },
      restV1: async () => {
        const { body, waitMs } = await this.#ask("/v1/pods");
        return { listed: JSON.parse(body) as unknown[], waitMs };
      },
      graphql: async () => {
        const { body, waitMs } = await this.#ask("/graphql", { query: QUERY });
        return { listed: (JSON.parse(body) as { data: { myself: PodList } }).data.myself.pods, waitMs };
      },
    };
    for (let i = -1; i < reads; i++) {
      for (const [name, read] of Object.entries(faces)) {
        const { listed, waitMs } = await read();
        if (listed.length !== pods) throw new Error(`${name} lists ${listed.length} Pods of ${pods}`);
        if (i >= 0) waits[name as keyof typeof waits].push(waitMs);
      }
    }
    return { restV2: summary(waits.restV2), restV1: summary(waits.restV1), graphql: summary(waits.graphql) };
  }

  async #ask(path: string, body?: object): Promise<Answer> {
    const sentAt = now();
    const asked = request(`${this.#url}${path}`, {
      agent: this.#agent,
      method: body ? "POST" : "GET",
      headers: this.#headers,
    });
    asked.end(body && JSON.stringify(body));
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const received = Buffer.concat(await answer.toArray());
    const waitMs = now() - sentAt;
    const text = received.toString("utf8");
    if (answer.statusCode! >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`);
    return { body: text, waitMs };
  }
}

export function faceLines({ pods, restV2, restV1, graphql }: FacesResult): Line[] {
  const against = (face: string, p50: number, most: number, aim: number): Line => ({
    ...amount("18", `${face} with ${pods} Pods against GET /v2/pods, p50`, p50 / restV2.p50, "x", most, aim),
    wall: `p50 ${p50.toFixed(1)} ms; REST v2 ${restV2.p50.toFixed(1)} ms`,
  });
  return [
    amount("18", `GET /v2/pods of ${pods}, p50`, restV2.p50, "ms", 15, 8),
    against("myself { pods }", graphql.p50, 1.4, 1.2),
    against("GET /v1/pods", restV1.p50, 1.2, 1.1),
  ];
}
