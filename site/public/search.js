/** Searches the documentation: the index is fetched with the first letter that somebody types. */
const field = document.getElementById("search");
const found = document.getElementById("found");
let index;

const load = async () => {
  const documents = await (await fetch("/docs/search.json")).json();
  const made = new MiniSearch({ fields: ["title", "heading", "text"], storeFields: ["title", "heading", "url"] });
  made.addAll(documents);
  return made;
};

/** Somebody who searches wants to use the product before they want to know how it was decided. */
const weightOf = (_id, _term, { url }) => (/\/(decisions|recipes)\//.test(url) ? 0.3 : 1);

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
  const options = {
    prefix: true,
    fuzzy: 0.1,
    boost: { title: 4, heading: 3 },
    boostDocument: weightOf,
    combineWith: "AND",
  };
  const results = wanted === "" ? [] : (await index).search(wanted, options).slice(0, 12);
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
