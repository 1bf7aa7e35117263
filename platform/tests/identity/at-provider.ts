/** A person at the pages of `oidc-provider`: signs in, agrees, and is sent back. */

/** Does what a person does in a browser, and returns the address to which the browser is sent back, at this origin. */
export async function signInAt(url: string, login: string, origin: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let next: { url: URL; body?: URLSearchParams } = { url: new URL(url) };
  for (let steps = 0; steps < 20; steps++) {
    if (next.url.origin === origin) return next.url;
    const answer = await fetch(next.url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(next.body && { method: "POST", body: next.body }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const text = await answer.text();
    next = nextOf(answer, next.url, text, login);
  }
  throw new Error("the provider leads in a circle");
}

function nextOf(answer: Response, from: URL, text: string, login: string) {
  const location = answer.headers.get("location");
  if (location !== null) return { url: new URL(location, from) };
  const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
  const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
  if (action === undefined || prompt === undefined) throw new Error(`the provider says ${answer.status}: ${text}`);
  return { url: new URL(action, from), body: new URLSearchParams({ prompt, login, password: "x" }) };
}
