/** A request that the server refused, with everything it said about why. */
import { reasons } from "./reasons.data.ts";

interface FieldFault {
  /** Of the field in the body, such as `workers.max`. */
  path: string;
  message: string;
}

export class Refusal extends Error {
  readonly status: number;
  readonly title: string;
  readonly code: string | undefined;
  readonly faults: FieldFault[];

  constructor(status: number, title: string, detail: string, code?: string, faults: FieldFault[] = []) {
    super(detail);
    Object.assign(this, { name: "Refusal" });
    this.status = status;
    this.title = title;
    this.code = code;
    this.faults = faults;
  }

  static unreachable(): Refusal {
    return new Refusal(0, "No connection", "The server did not answer. Check that it runs and that you are online.");
  }

  static async from(answer: Response): Promise<Refusal> {
    const code = answer.headers.get("X-Reason-Code") ?? undefined;
    const said = await answer.json().catch(() => ({}));
    // OpenAI's form has the message one level deeper.
    const detail = said.detail ?? said.error?.message ?? said.error ?? said.message ?? answer.statusText;
    return new Refusal(answer.status, said.title ?? "Refused", String(detail), code, faultsIn(said.errors));
  }

  get remedy(): string | undefined {
    return this.code === undefined ? undefined : reasons[this.code]?.remedy;
  }
}

/** `$.workers.max: must be at least 1`: the path of a field, and what is wrong with it. */
const FAULT = /^\$\.?([^:]*): (.*)$/s;
/** A field that is not there is named in the sentence, since it has no place yet. */
const MISSING = /^property '(.+?)' (is required.*)$/;

function faultsIn(errors: unknown): FieldFault[] {
  if (!Array.isArray(errors)) return [];
  return errors.flatMap((error) => {
    const [, path, message] = FAULT.exec(String(error)) ?? [];
    if (path === undefined || message === undefined) return [];
    const [, missing, required] = MISSING.exec(message) ?? [];
    if (missing === undefined || required === undefined) return [{ path, message }];
    return [{ path: path === "" ? missing : `${path}.${missing}`, message: required }];
  });
}
