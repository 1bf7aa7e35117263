/** Stand-ins for workers on the public protocol: each takes one job, reports it, and takes the next. */
import http from "node:http";

const settings = JSON.parse(process.argv[2]!) as { env: Record<string, string>; workers: number };
const { env } = settings;
const agent = new http.Agent({ keepAlive: true, scheduling: "lifo" });
const headers = {
  authorization: env.RUNPOD_AI_API_KEY!,
  "user-agent": "RunPod-Python-SDK/1.12.0 (Linux) Language/Python 3.11",
};

function ask(method: string, url: string, body?: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent =
      body === undefined
        ? { ...headers, "content-type": "application/json" }
        : {
            ...headers,
            "content-type": "application/x-www-form-urlencoded",
            "content-length": Buffer.byteLength(body),
          };
    const request = http.request(url, { agent, method, headers: sent });
    request.once("error", reject);
    request.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () => resolve({ status: response.statusCode!, text }));
    });
    request.end(body);
  });
}

/** The variables are one worker's; the others are it with a number behind its id. */
async function work(number: number): Promise<never> {
  const own = (name: string) => env[name]!.replaceAll(env.RUNPOD_POD_ID!, `${env.RUNPOD_POD_ID}${number}`);
  const takeUrl = own("RUNPOD_WEBHOOK_GET_JOB");
  const doneUrl = own("RUNPOD_WEBHOOK_POST_OUTPUT");
  const pingUrl = own("RUNPOD_WEBHOOK_PING");
  let current = "";
  const ping = () => ask("GET", `${pingUrl}${current === "" ? "" : `&job_id=${current}`}&runpod_version=1.12.0`);
  setInterval(() => void ping().catch(() => undefined), Number(env.RUNPOD_PING_INTERVAL));
  for (;;) {
    const { status, text } = await ask("GET", `${takeUrl}&job_in_progress=0`);
    if (status !== 200) continue;
    const job = JSON.parse(text) as { id: string; input: unknown };
    current = job.id;
    const url = `${doneUrl.replace("$ID", job.id)}&isStream=false`;
    for (let answer = 0; answer !== 200; )
      answer = (await ask("POST", url, JSON.stringify({ output: job.input }))).status;
    current = "";
  }
}

for (let number = 0; number < settings.workers; number++) void work(number);
process.send!({ kind: "ready" });
process.once("disconnect", () => process.exit(0));
process.on("unhandledRejection", () => process.exit(process.connected ? 1 : 0));
