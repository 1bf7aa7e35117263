/** Gives the files of models on this node's machines to other nodes, which copy them to theirs. */
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { etagOf, type Files } from "../../ports/files/files.ts";
import type { ModelCare } from "../../resources/models/care.ts";
import { snapshotIn } from "../../resources/models/snapshot.ts";
import { sendBytes } from "../http/bytes.ts";
import { problemJson } from "../http/problem-json.ts";
import { sendRefusal } from "../http/refusal.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials } from "../http/surface.ts";
import { type NodePasses, PASS_HEADER } from "./pass.ts";
import { type ModelAsked, modelAskedBy } from "./paths.ts";

export interface ModelLinkParts {
  /** This node's id. */
  node: string;
  passes: NodePasses;
  modelCare: Pick<ModelCare, "filesAt">;
  log: Log;
}

export class ModelLink implements Ahead {
  readonly #parts: ModelLinkParts;

  constructor(parts: ModelLinkParts) {
    this.#parts = parts;
  }

  find({ url, method, headers }: Credentials): Answering | undefined {
    const asked = method === "GET" && headers[PASS_HEADER] !== undefined ? modelAskedBy(url) : undefined;
    return asked && ((request, reply) => this.#answer(asked, request, reply));
  }

  mayUpgrade = () => false;
  upgrade = () => {};

  async #answer(asked: ModelAsked, request: Request, reply: Reply): Promise<void> {
    const { method, url, headers } = request;
    const { passes, node, modelCare } = this.#parts;
    try {
      passes.check(method, url, String(headers[PASS_HEADER]));
      const files = asked.node === node ? await modelCare.filesAt(asked.model, asked.machine) : undefined;
      if (!files) throw problem("not-found", "this node has no such model");
      if (asked.file) await sendFile(files, asked.file, request, reply);
      else await sendSnapshot(files, reply);
    } catch (error) {
      const refusal = this.#asProblem(error);
      if (reply.raw.headersSent) return void reply.raw.destroy();
      sendRefusal(reply, refusal, problemJson(refusal));
    }
  }

  #asProblem(error: unknown): Problem {
    if (isProblem(error)) return error;
    this.#parts.log.error({ err: error }, "unforeseen fault in the node link of models");
    return problem("fault", "An unexpected error occurred.");
  }
}

/** A copy has the layout of a cache, whatever its model is called. */
async function sendSnapshot(files: Files, reply: Reply): Promise<void> {
  const { revision, bytes, files: found } = await snapshotIn(files, [], { name: "" });
  const body = { revision, bytes, files: found.map(({ path, size }) => ({ path, size })) };
  reply.type("application/json").send(JSON.stringify(body));
}

async function sendFile(
  files: Files,
  { revision, path }: NonNullable<ModelAsked["file"]>,
  request: Request,
  reply: Reply,
): Promise<void> {
  const opened = await files.open(["snapshots", revision, ...path.split("/")]);
  if (!opened) throw problem("not-found", "the model has no such file");
  const { size, modifiedAt } = opened.facts;
  await sendBytes(request, reply, {
    ...{ size, modifiedAt, etag: etagOf(opened.facts), headers: { "Content-Type": "application/octet-stream" } },
    read: (range) => opened.read(range),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  });
}
