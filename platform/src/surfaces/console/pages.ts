/** The web console in a browser: its files at their paths, and its page at every path that nothing else uses. */
import Negotiator from "negotiator";
import type { Log } from "../../kernel/log.ts";
import { problem } from "../../kernel/problem.ts";
import { writeHead } from "../http/head.ts";
import { wantsPage } from "../http/page.ts";
import { problemJson } from "../http/problem-json.ts";
import { sendRefusal } from "../http/refusal.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import { buildOf, type ConsoleFile, type ConsoleFiles, type Encoding, INDEX, readConsole } from "./files.ts";
import { consoleHeaders } from "./headers.ts";

/** If a browser accepts several, the first of these is used. */
const ENCODINGS: readonly Encoding[] = ["br", "gzip", "identity"];
/** These paths belong to other surfaces. A path below them that does not exist is no page of the console. */
const OTHERS = /^\/(v1|v2|graphql|s3|healthz|readyz|metrics)(\/|$)/;
/** The documentation is built beside the console. Its pages are files, and programs read them too. */
const DOCS = /^\/docs(\/|$)/;
const ASSETS = "/assets/";

const FOR_EVER = "public, max-age=31536000, immutable";
/** Browsers may keep the file, but must ask again before each use. */
const ASK_AGAIN = "no-cache";
const NEVER = "no-store";

export interface ConsolePagesParts {
  /** The folder of the built files. */
  folder: string;
  log: Log;
}

export class ConsolePages {
  readonly #parts: ConsolePagesParts;
  #files: Promise<ConsoleFiles | undefined> | undefined;
  #build: string | undefined;

  constructor(parts: ConsolePagesParts) {
    this.#parts = parts;
  }

  /** Answers requests for the console, and leaves the rest to `otherwise`. */
  or(otherwise: Answering): Answering {
    return async (request, reply, params) => {
      const { method } = request;
      if (method !== "GET" && method !== "HEAD") return otherwise(request, reply, params);
      const path = request.url.split("?", 1)[0]!;
      const isPage = isOfConsole(request, path);
      const files = await (isPage ? this.#latest() : this.#read());
      if (!files) return isPage ? sayComing(reply) : otherwise(request, reply, params);
      if (DOCS.test(path)) return sendPage(request, reply, files.get(path) ?? pageOf(files, path));
      const file = files.get(path);
      if (file && path !== INDEX) return send(request, reply, file, file.isHashed ? FOR_EVER : ASK_AGAIN);
      if (path.startsWith(ASSETS)) return refuse(reply);
      if (!isPage) return otherwise(request, reply, params);
      return send(request, reply, files.get(INDEX)!, NEVER);
    };
  }

  /** The first start after an update shows the console of before, while the launcher builds the new one. Whoever loads a page then gets it. */
  async #latest(): Promise<ConsoleFiles | undefined> {
    const build = await buildOf(this.#parts.folder);
    if (build !== undefined && build !== this.#build) {
      this.#build = build;
      this.#files = undefined;
    }
    return this.#read();
  }

  /** Reads the files once, with the first request that nothing else answers, so that no start waits for it. */
  #read(): Promise<ConsoleFiles | undefined> {
    this.#files ??= this.#readOnce();
    return this.#files;
  }

  async #readOnce(): Promise<ConsoleFiles | undefined> {
    const files = await readConsole(this.#parts.folder).catch((error: unknown) => {
      this.#parts.log.error({ err: error }, "the files of the console cannot be read");
      return undefined;
    });
    // The launcher may still be building it. The next request looks again.
    if (!files) this.#files = undefined;
    return files;
  }
}

/** A browser asks for a page, and no other surface has the path. */
const isOfConsole = (request: Request, path: string) => DOCS.test(path) || (!OTHERS.test(path) && wantsPage(request));

/** `/docs/jobs` is the file `/docs/jobs.html`, and `/docs/clients/` is `/docs/clients/index.html`. */
const pageOf = (files: ConsoleFiles, path: string) => {
  const plain = path.replace(/\/$/, "");
  return files.get(`${plain}.html`) ?? files.get(`${plain}/index.html`);
};

const sendPage = (request: Request, reply: Reply, file: ConsoleFile | undefined) =>
  file ? send(request, reply, file, ASK_AGAIN) : refuse(reply, "The documentation has no such page: see /docs/.");

const COMING = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<title>Millrace</title>
<p>Millrace is running. The launcher is building its web console, which takes about ten seconds after an update. This page looks again by itself.
<p>If the console does not appear, <code>node_modules/.cache/console-log</code> in the folder of Millrace says why. The API works without it; <a href="/v2/openapi.json">/v2/openapi.json</a> describes it.
</html>
`;

function sayComing(reply: Reply): Reply {
  Object.assign(reply.headers, consoleHeaders(undefined), { "Cache-Control": NEVER, "Retry-After": "2" });
  return reply.code(503).type("text/html; charset=utf-8").send(COMING);
}

function send(request: Request, reply: Reply, { forms, type }: ConsoleFile, cached: string): Reply {
  const encoding = encodingFor(request, forms);
  const { bytes, etag } = forms[encoding]!;
  Object.assign(reply.headers, consoleHeaders(request.headers.host), {
    "Cache-Control": cached,
    ETag: etag,
    Vary: "Accept, Accept-Encoding",
  });
  if (names(request.headers["if-none-match"], etag)) {
    writeHead(reply.code(304).raw, reply.status, reply.headers);
    reply.raw.end();
    return reply;
  }
  if (encoding !== "identity") reply.header("Content-Encoding", encoding);
  return reply.type(type).send(bytes);
}

/** A browser that refuses every available encoding gets the plain file. */
function encodingFor(request: Request, forms: ConsoleFile["forms"]): Encoding {
  const there = ENCODINGS.filter((encoding) => forms[encoding]);
  const accepted = new Negotiator(request).encodings(there) as Encoding[];
  return there.find((encoding) => accepted.includes(encoding)) ?? "identity";
}

const names = (condition: string | undefined, etag: string) =>
  condition?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag) === true;

/** A missing script must not be answered with the page, since a browser would run that as the script. */
function refuse(
  reply: Reply,
  why = "The console has no such file. Load the page again: the console may be newer.",
): Reply {
  const refusal = problem("not-found", why);
  return sendRefusal(reply.header("Cache-Control", NEVER), refusal, problemJson(refusal));
}
