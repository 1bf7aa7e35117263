/** Gets something from a registry by HTTP, from addresses that may be reached alone, with each redirect checked like the first. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { checkedLookup } from "../machine/checked-lookup.ts";

const MOST_REDIRECTS = 4;
const LARGEST_ANSWER = 4 * 1_048_576;

/** The address is one that images must not come from. */
export class NotReached extends Error {}

export interface Answer {
  status: number;
  header(name: string): string | undefined;
  text: string;
}

export interface GetOptions {
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Returns which addresses may be reached for this URL. Undefined means all: no stranger chose the host. */
  limit: (url: URL) => ((address: string) => boolean) | undefined;
}

export async function registryGet(url: URL, options: GetOptions): Promise<Answer> {
  let [at, { headers }] = [url, options];
  for (let tries = 0; ; tries++) {
    const answer = await getOnce(at, { ...options, headers });
    const location = answer.header("location");
    const next = answer.status >= 300 && answer.status < 400 && location ? URL.parse(location, at.href) : undefined;
    if (!next || !/^https?:$/.test(next.protocol)) return answer;
    if (tries >= MOST_REDIRECTS) throw new Error("it sends on too often");
    // A login is for the host that it was given for.
    if (next.host !== at.host || next.protocol !== at.protocol) headers = withoutLogin(headers);
    at = next;
  }
}

const ANY = () => true;

const withoutLogin = ({ authorization: _, ...headers }: Record<string, string>) => headers;

function getOnce(url: URL, { headers, signal, limit }: GetOptions): Promise<Answer> {
  const mayReach = limit(url) ?? ANY;
  return new Promise((resolve, reject) => {
    const literal = url.hostname.replace(/^\[|\]$/g, "");
    // A literal address is never looked up, so it is checked here.
    if (isIP(literal) && !mayReach(literal)) return reject(refused(literal));
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const lookup = checkedLookup(mayReach, { refused, bySystem: mayReach === ANY });
    const request = send(url, { agent: false, lookup, signal, headers: { ...headers, "user-agent": "Millrace" } });
    request.on("error", reject);
    request.on("response", (response) => {
      textOf(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, header: (name) => headerOf(response, name), text }),
        reject,
      );
    });
    request.end();
  });
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER) throw new Error("its answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const refused = (host: string) =>
  new NotReached(
    `'${host}' is not a public address; MILLRACE_KUBERNETES_REGISTRIES names registries that are on private ones`,
  );
