/** Turns what a handler returned, yielded or threw into the result object for the server. */

export interface Result {
  /** The result object as JSON text. */
  text: string;
  /** This process should be replaced after the job. */
  refresh: boolean;
}

/** The machine and worker that failed, for the reader of the error. */
export interface Origin {
  hostname: string;
  worker: string;
}

export function resultOf(value: unknown, always: { refresh: boolean }, origin: Origin): Result {
  // Most outputs have neither key, and need no copy without them.
  if (!isPlainObject(value) || !("error" in value || "refresh_worker" in value))
    return written({ output: value }, always.refresh, origin);
  const { error, refresh_worker: wanted, ...rest } = value;
  const refresh = always.refresh || Boolean(wanted);
  if (error) return written({ ...(isEmpty(rest) ? {} : { output: rest }), error }, refresh, origin);
  return written({ output: rest }, refresh, origin);
}

/** The error is JSON text in a string, in the shape that clients of this API decode. */
export function failureOf(thrown: unknown, always: { refresh: boolean }, origin: Origin): Result {
  const known = thrown instanceof Error ? thrown : new Error(String(thrown));
  const error = JSON.stringify({
    error_type: known.name,
    error_message: known.message,
    error_traceback: known.stack ?? "",
    hostname: origin.hostname,
    worker_id: origin.worker,
  });
  return { text: text({ error }, always.refresh), refresh: always.refresh };
}

function written(result: object, refresh: boolean, origin: Origin): Result {
  try {
    // The length is not limited here, because the server knows its limits.
    return { text: text(result, refresh), refresh };
  } catch (unwritable) {
    return failureOf(unwritable, { refresh }, origin);
  }
}

const text = (result: object, refresh: boolean) => JSON.stringify(refresh ? { ...result, stopPod: true } : result);

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}
