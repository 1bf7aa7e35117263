/** The curl line for a call, as a person would type it in a shell with `MILLRACE_API_KEY` set. */
import { calls } from "./calls.data.ts";
import { type AnyAsk, addressOf, type OperationName } from "./client.ts";

export function curlOf(name: OperationName, ask: AnyAsk = {}): string {
  const { method } = calls[name]!;
  return curlFor(method, addressOf(name, ask), ask.body);
}

export function curlFor(method: string, address: string, body?: unknown): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(new URL(address, location.origin).href)}`];
  lines.push('-H "Authorization: Bearer $MILLRACE_API_KEY"');
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d ${quoted(typeof body === "string" ? body : readable(body))}`);
  }
  return lines.join(" \\\n  ");
}

/** Longer ones are read and changed more easily with a line for each field. */
const ONE_LINE = 76;

function readable(body: unknown): string {
  const text = JSON.stringify(body);
  return text.length <= ONE_LINE ? text : JSON.stringify(body, null, 2);
}

const quoted = (text: string) => (/^[\w:/.=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
