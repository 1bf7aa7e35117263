/** The call that Try it makes, as code to copy: curl, the public SDKs, and OpenAI's client. */
import type { RunMode } from "./try-modes.ts";

export interface Sample {
  language: string;
  text: string;
}

export interface Call {
  mode: RunMode;
  /** The address of this server. */
  origin: string;
  endpointId: string;
  /** As it stands in the editor. */
  body: string;
  /** For HTTP requests to workers behind a load balancer. */
  http?: { method: string; path: string };
}

/** Where a program of Node finds the key. */
const KEY = `${"process"}.env.MILLRACE_API_KEY`;

export function samplesOf(call: Call): Sample[] {
  if (call.mode === "http") return [curlHttp(call), pythonHttp(call), fetchHttp(call)];
  if (call.mode === "chat")
    return [curlOf(call, "/openai/v1/chat/completions"), pythonOpenAi(call), scriptOpenAi(call)];
  const path = call.mode === "wait" ? "/runsync" : "/run";
  return [curlOf(call, path), pythonSdk(call), scriptSdk(call)];
}

const base = ({ origin, endpointId }: Call) => `${origin}/v2/${endpointId}`;

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function curlOf(call: Call, path: string): Sample {
  const streams = call.mode === "chat" && (parsed(call.body) as { stream?: boolean } | undefined)?.stream;
  return {
    language: "curl",
    text: [
      `curl${streams ? " -N" : ""} ${base(call)}${path}`,
      '-H "Authorization: Bearer $MILLRACE_API_KEY"',
      "-H 'Content-Type: application/json'",
      `-d ${shellQuoted(call.body)}`,
    ].join(" \\\n  "),
  };
}

function curlHttp(call: Call): Sample {
  const { method, path } = call.http!;
  const hasBody = method !== "GET" && call.body.trim() !== "";
  return {
    language: "curl",
    text: [
      `curl ${method === "GET" ? "" : `-X ${method} `}${shellQuoted(`${base(call)}${path}`)}`,
      '-H "Authorization: Bearer $MILLRACE_API_KEY"',
      ...(hasBody ? ["-H 'Content-Type: application/json'", `-d ${shellQuoted(call.body)}`] : []),
    ].join(" \\\n  "),
  };
}

function pythonSdk(call: Call): Sample {
  const isWait = call.mode === "wait";
  return {
    language: "Python",
    text: `# pip install runpod
import os, runpod

runpod.api_key = os.environ["MILLRACE_API_KEY"]
runpod.endpoint_url_base = "${call.origin}/v2"

endpoint = runpod.Endpoint("${call.endpointId}")
request = ${pythonLiteral(parsed(call.body))}
${
  isWait
    ? `output = endpoint.run_sync(request, timeout=90)
print(output)`
    : `job = endpoint.run(request)
for chunk in job.stream():
    print(chunk)
print(job.status(), job.output())`
}
`,
  };
}

function scriptSdk(call: Call): Sample {
  return {
    language: "TypeScript",
    text: `// npm install runpod-sdk
import runpodSdk from "runpod-sdk";

const client = runpodSdk(${KEY}!, { baseUrl: "${call.origin}/v2" });
const endpoint = client.endpoint("${call.endpointId}")!;
const request = ${scriptLiteral(call.body)};
${
  call.mode === "wait"
    ? `const { output } = await endpoint.runSync(request);
console.log(output);`
    : `const { id } = await endpoint.run(request);
for await (const chunk of endpoint.stream(id)) console.log(chunk);
console.log(await endpoint.status(id));`
}
`,
  };
}

function pythonOpenAi(call: Call): Sample {
  const asked = parsed(call.body) as { stream?: boolean } | undefined;
  return {
    language: "OpenAI (Python)",
    text: `# pip install openai
import os
from openai import OpenAI

client = OpenAI(api_key=os.environ["MILLRACE_API_KEY"], base_url="${base(call)}/openai/v1")
answer = client.chat.completions.create(**${pythonLiteral(asked)})
${
  asked?.stream
    ? `for part in answer:
    print(part.choices[0].delta.content or "", end="", flush=True)`
    : "print(answer.choices[0].message.content)"
}
`,
  };
}

function scriptOpenAi(call: Call): Sample {
  const asked = parsed(call.body) as { stream?: boolean } | undefined;
  return {
    language: "OpenAI (TypeScript)",
    text: `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({ apiKey: ${KEY}, baseURL: "${base(call)}/openai/v1" });
const answer = await client.chat.completions.create(${scriptLiteral(call.body)});
${
  asked?.stream
    ? `for await (const part of answer) process.stdout.write(part.choices[0]?.delta?.content ?? "");`
    : "console.log(answer.choices[0].message.content);"
}
`,
  };
}

function pythonHttp(call: Call): Sample {
  const { method, path } = call.http!;
  const body = method === "GET" || call.body.trim() === "" ? "" : `\n    json=${pythonLiteral(parsed(call.body))},`;
  return {
    language: "Python",
    text: `# pip install requests
import os, requests

answer = requests.request(
    "${method}",
    ${JSON.stringify(`${base(call)}${path}`)},
    headers={"Authorization": f"Bearer {os.environ['MILLRACE_API_KEY']}"},${body}
)
print(answer.status_code, answer.text)
`,
  };
}

function fetchHttp(call: Call): Sample {
  const { method, path } = call.http!;
  const hasBody = method !== "GET" && call.body.trim() !== "";
  return {
    language: "TypeScript",
    text: `const answer = await fetch(${JSON.stringify(`${base(call)}${path}`)}, {
  method: "${method}",
  headers: {
    Authorization: \`Bearer \${${KEY}}\`,${hasBody ? '\n    "Content-Type": "application/json",' : ""}
  },${hasBody ? `\n  body: JSON.stringify(${scriptLiteral(call.body)}),` : ""}
});
console.log(answer.status, await answer.text());
`,
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** JSON is an expression of JavaScript. A body that cannot be read stands there as a comment says. */
const scriptLiteral = (body: string) => {
  const value = parsed(body);
  return value === undefined ? "{ /* the body is no JSON yet */ }" : JSON.stringify(value, null, 2);
};

/** A JSON value as Python writes it. */
export function pythonLiteral(value: unknown, indent = 0): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = " ".repeat(indent + 4);
  const outer = " ".repeat(indent);
  const items = Array.isArray(value)
    ? value.map((item) => pythonLiteral(item, indent + 4))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item, indent + 4)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (items.length === 0) return `${open}${close}`;
  const line = `${open}${items.join(", ")}${close}`;
  if (line.length <= 60 && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${outer}${close}`;
}
