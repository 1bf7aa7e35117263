/** A worker whose jobs all have the longest result that fits into a record. */
const env = process.env;
const headers = { authorization: env.RUNPOD_AI_API_KEY };
const result = JSON.stringify({ output: "x".repeat(19_000_000) });

for (;;) {
  const taken = await fetch(env.RUNPOD_WEBHOOK_GET_JOB, { headers });
  if (taken.status !== 200) continue;
  const { id } = await taken.json();
  await fetch(env.RUNPOD_WEBHOOK_POST_OUTPUT.replace("$ID", id), { method: "POST", headers, body: result });
}
