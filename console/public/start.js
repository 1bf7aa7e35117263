// Runs before anything else of a page: sets the theme, so that it does not flash in the other one, loads the files of the page, and asks
// for what it shows first, while the browser still loads the console. See console/src/api/early.ts.
try {
  const theme = localStorage.getItem("millrace.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  // The build puts in the address of each page with its files and what it reads first (console/vite.config.ts).
  const PAGES = [];
  const FILES = [];
  const parts = location.pathname.split("/");
  const isHere = ([path]) => {
    const own = path.split("/");
    return own.length === parts.length && own.every((part, i) => part === parts[i] || part.startsWith("$"));
  };
  // Pages with an address of their own come before those with an id in its place.
  const page = PAGES.find(isHere);
  // Before the questions: a browser has six connections, and a file that waited for answers would keep the page from being drawn.
  for (const number of page?.[1] ?? []) {
    const file = FILES[number];
    const link = document.createElement("link");
    link.crossOrigin = "";
    link.href = `/${file}`;
    if (file.endsWith(".js")) link.rel = "modulepreload";
    else Object.assign(link, { rel: "preload", as: "style" });
    document.head.append(link);
  }
  const token = localStorage.getItem("millrace.page");
  if (token !== null && !/^\/(sign-in(\/provider)?|invitation)\/?$/.test(location.pathname)) {
    const ask = (address, { accept, after } = {}) => {
      const stop = new AbortController();
      const headers = { "X-Millrace-Page": token, ...(accept && { Accept: accept }) };
      const send = () => fetch(address, { headers, signal: stop.signal });
      const answer = after ? after.then(send) : send();
      answer.catch(() => undefined);
      return [address, { answer, stop }];
    };
    const addressOf = (address) => address.replace("$id", parts[2] ?? "");
    // A view in the address may ask for other rows.
    const [reads, ofQueue] = location.search === "" && page ? page.slice(2) : [[], []];
    // The stream comes first: whatever is read after its beginning need not be read again.
    const early = new Map([
      ...(document.hidden ? [] : [ask("/v2/account/events", { accept: "text/event-stream" })]),
      ask("/v2/account/me"),
      ...reads.map((address) => ask(addressOf(address))),
    ]);
    globalThis.millraceEarly = early;
    if (ofQueue.length > 0) {
      // On a load balancing endpoint these addresses are the worker's, and a question wakes one: the endpoint, which is read first, says it.
      const after = early.get(addressOf(reads[0])).answer.then(async (answer) => {
        const { type } = await answer.clone().json();
        if (type !== "QUEUE") throw new Error("no queue");
      });
      for (const address of ofQueue) early.set(...ask(addressOf(address), { after }));
    }
  }
} catch {}
