/** The errors with which the compute port refuses. */
import type { StartCode } from "../../kernel/reasons/starts.ts";

/** The instance cannot be started as asked. Trying again does not help until something else changes. */
export class StartRefused extends Error {
  /** The reason as a code for programs. */
  readonly reason: StartCode;

  constructor(message: string, options: ErrorOptions & { reason?: StartCode } = {}) {
    super(message, options);
    this.reason = options.reason ?? "start-refused";
  }
}

/** Who runs the instances did not answer, or broke off. That says nothing about the instance, so the same start is tried again. */
export class DriverAway extends Error {
  readonly reason: StartCode = "engine-away";
}

/** Nothing while the driver is away. */
export async function unlessAway<T>(list: Promise<T[]>): Promise<T[]> {
  try {
    return await list;
  } catch (error) {
    if (error instanceof DriverAway) return [];
    throw error;
  }
}

/** The box that it was given, or the room in it, is gone. It may start elsewhere. */
export class PlaceGone extends StartRefused {}

/** No further program can run in this instance, or not this one. */
export class ExecRefused extends Error {}

export const nothingLeft = (id: string) => `nothing is left of instance ${id}: it cannot go on where it was`;
