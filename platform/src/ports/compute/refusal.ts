/** The refusal of the compute port. */
import type { StartCode } from "../../kernel/reasons/starts.ts";

/** An instance cannot be started as it is asked for: trying the same again will not help before something else changes. */
export class StartRefused extends Error {
  /** The code of why, for programs. */
  readonly reason: StartCode;

  constructor(message: string, options: ErrorOptions & { reason?: StartCode } = {}) {
    super(message, options);
    this.reason = options.reason ?? "start-refused";
  }
}

/** The box that it was given room in is not there any more, or its room is not: elsewhere it may start. */
export class PlaceGone extends StartRefused {}

/** No program can be run beside that of an instance, or not this one. */
export class ExecRefused extends Error {}

export const nothingLeft = (id: string) => `nothing is left of instance ${id}: it cannot go on where it was`;
