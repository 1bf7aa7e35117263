/** The HTTP server that these programs share: a few routes, with a password for all that act. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

export type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

export interface Site {
  /** Routes by method and path, such as `GET /`, that anyone may use. */
  open: Record<string, Answer>;
  /** Routes that need the password as a bearer token. */
  guarded?: Record<string, Answer>;
  /** Without a password, no route is protected. */
  password?: string | undefined;
}

const LONGEST_BODY = 1024 * 1024;

/** A refusal that is sent to the client. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function openSite({ open, guarded = {}, password }: Site): Server {
  return createServer((request, response) => {
    const name = `${request.method} ${new URL(request.url ?? "/", "http://here").pathname}`;
    const answer = async () => {
      const found = open[name] ?? guarded[name];
      if (!found) throw new Refused(404, "There is nothing here.");
      if (!open[name] && password !== undefined && !isPassword(request, password))
        throw new Refused(401, "The password is missing or wrong.");
      await found(request, response);
    };
    answer().catch((error: unknown) => refuse(response, error));
  });
}

/** The password that a Pod was given, or a random one that is written to its log. */
export function passwordIn(env: NodeJS.ProcessEnv, say: (line: string) => void): string {
  if (env.JUPYTER_PASSWORD) return env.JUPYTER_PASSWORD;
  const password = randomBytes(12).toString("hex");
  say(`JUPYTER_PASSWORD is not set; the password is ${password}`);
  return password;
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request) {
    length += (piece as Buffer).length;
    if (length > LONGEST_BODY) throw new Refused(413, "The body is longer than 1 MiB.");
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString();
}

export async function jsonOf<T>(request: IncomingMessage): Promise<T> {
  const text = await bodyOf(request);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Refused(400, "The body is not JSON.");
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

export function page(title: string, body: string): Answer {
  const style =
    "body{font:15px sans-serif;margin:2em auto;max-width:60em;padding:0 1em}pre,textarea,input{font:13px monospace}";
  const html = `<!doctype html><meta charset="utf-8"><title>${title}</title><style>${style}</style>${body}`;
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" }).end(html);
  };
}

/** Code for pages: asks for the password once per tab and adds it to requests. */
export const ASKING = `
const asked = () => new Promise((given) => {
  const form = Object.assign(document.createElement("form"), { innerHTML: '<p>Password (JUPYTER_PASSWORD of this Pod): <input type="password" autofocus> <button>Open</button></p>' });
  form.onsubmit = (event) => { event.preventDefault(); form.remove(); given(form.querySelector("input").value); };
  document.body.prepend(form);
});
const password = async () => sessionStorage.password ??= await (asking ??= asked().finally(() => { asking = undefined; }));
let asking;
async function ask(path, init = {}) {
  const response = await fetch(path, { ...init, headers: { ...init.headers, authorization: "Bearer " + (await password()) } });
  if (response.status === 401) { sessionStorage.removeItem("password"); return ask(path, init); }
  return response;
}`;

/** Digests are compared, because a constant-time comparison needs texts of the same length. */
function isPassword({ headers }: IncomingMessage, password: string): boolean {
  const given = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(password));
}

function refuse(response: ServerResponse, error: unknown): void {
  const status = error instanceof Refused ? error.status : 500;
  if (response.headersSent) response.destroy();
  else sendJson(response, { error: { message: error instanceof Error ? error.message : String(error) } }, status);
}
