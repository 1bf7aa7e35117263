/** Where to go after a sign-in: a page of this console, and never anywhere else. */

export function nextOf(wanted: string | null | undefined, origin: string): string {
  if (!wanted?.startsWith("/")) return "/";
  try {
    const { origin: there, pathname, search, hash } = new URL(wanted, origin);
    const isInside = there === origin && !pathname.startsWith("//") && !/^\/sign-in(\/|$)/.test(pathname);
    return isInside ? pathname + search + hash : "/";
  } catch {
    return "/";
  }
}
