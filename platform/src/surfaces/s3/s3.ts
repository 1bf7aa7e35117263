/** S3: serves the files of an account's volumes to every S3 client, on a path and a host of its own. */
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials } from "../http/surface.ts";
import { isS3 } from "./address.ts";
import type { S3Answers, S3SurfaceParts } from "./answers.ts";

export class S3Surface implements Ahead {
  readonly #parts: S3SurfaceParts;
  #answers: Promise<S3Answers> | undefined;

  constructor(parts: S3SurfaceParts) {
    this.#parts = parts;
  }

  find(request: Credentials): Answering | undefined {
    return isS3(request, this.#parts.domain) ? this.#answering : undefined;
  }

  mayUpgrade(): boolean {
    return false;
  }

  upgrade(): void {}

  readonly #answering: Answering = Object.assign(
    async (request: Request, reply: Reply) => (await this.#loaded()).answer(request, reply),
    { countedAs: "s3" },
  );

  /** Loads S3 with the first request. Its libraries would make every start a sixth longer, and most servers never need them. */
  #loaded(): Promise<S3Answers> {
    this.#answers ??= import("./answers.ts").then(({ S3Answers }) => new S3Answers(this.#parts));
    return this.#answers;
  }
}
