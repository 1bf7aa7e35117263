/** Searches the documentation: the index is fetched with the first letter that somebody types. */
const field = document.getElementById("search");
const found = document.getElementById("found");
let index;

/** A name such as MILLRACE_PORT is one word. */
const tokenize = (text) => text.split(/[^\p{L}\p{N}_]+/u);
/** A plural is found by its singular. A single letter says nothing. */
const processTerm = (term) => {
  const word = term
    .toLowerCase()
    .replace(/ies$/, "y")
    .replace(/([^s])s$/, "$1");
  return word.length > 1 ? word : null;
};

const load = async () => {
  const made = new MiniSearch({
    fields: ["title", "heading", "text"],
    storeFields: ["title", "heading", "url", "weight"],
    tokenize,
    processTerm,
  });
  made.addAll(await (await fetch("/docs/search.json")).json());
  const options = {
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 4 ? 0.1 : false),
    boost: { title: 4, heading: 3 },
    boostDocument: (_id, _term, { weight }) => weight,
  };
  // A result has all words. Where none does, those with some are better than nothing.
  return (words) => {
    const found = made.search(words, { ...options, combineWith: "AND" });
    return found.length > 0 ? found : made.search(words, { ...options, combineWith: "OR" });
  };
};

const entryOf = ({ url, title, heading }) => {
  const entry = document.createElement("li");
  const link = document.createElement("a");
  link.href = url;
  link.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
  entry.append(link);
  return entry;
};

field.addEventListener("input", async () => {
  index ??= load();
  const wanted = field.value.trim();
  const results = wanted === "" ? [] : (await index)(wanted).slice(0, 12);
  if (wanted !== field.value.trim()) return;
  found.replaceChildren(...results.map(entryOf));
  found.hidden = results.length === 0;
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape" && document.activeElement === field) {
    field.value = "";
    found.hidden = true;
  }
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && links.length > 0 && (at >= 0 || document.activeElement === field)) {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)].focus();
  }
  if (event.key === "ArrowUp" && at >= 0) {
    event.preventDefault();
    (links[at - 1] ?? field).focus();
  }
});
