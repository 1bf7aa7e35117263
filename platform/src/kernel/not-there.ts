/** Tells a file that is not there from one that could not be read: without descriptors, everything would seem to have ended. */

/** Reading a zombie's files gives EINVAL, and once the process is gone ESRCH or ENOENT. Files of other users are forbidden. */
const NOT_THERE = new Set(["ENOENT", "ENOTDIR", "ESRCH", "EINVAL", "EACCES", "EPERM"]);

/** A handler for `catch`: returns the value if nothing is there for this process, and throws other errors again. */
export const ifNotThere =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (NOT_THERE.has(error.code ?? "")) return value;
    throw error;
  };
