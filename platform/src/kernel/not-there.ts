/** Tells what is not there from what could not be looked at: without a free descriptor everything would seem to have ended. */

/** A zombie's files are EINVAL, and ESRCH or ENOENT when it is gone; those of others are forbidden. */
const NOT_THERE = new Set(["ENOENT", "ENOTDIR", "ESRCH", "EINVAL", "EACCES", "EPERM"]);

/** For `catch`: the value where nothing is there for this process, else the error. */
export const ifNotThere =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (NOT_THERE.has(error.code ?? "")) return value;
    throw error;
  };
