// Documents with their states: what is indexed, what waits, what could not be read and why.
import { address, get } from "./api.js";
import { name } from "./cards.js";
import { config } from "./config.js";
import { empty, failure, h, iconButton } from "./dom.js";
import { when } from "./language.js";
import { openPassage } from "./reader.js";
import { go } from "./router.js";
import { createUploads } from "./uploads.js";

const STATES = ["", "indexed", "pending", "quarantined", "excluded"];
const PAGE = 100;

const tabs = h("div", { class: "tabs", role: "group", label: "state" });
const filter = h("input", {
  type: "search",
  placeholder: "filter_documents",
  label: "filter_documents",
  on: { input: narrow },
});
const list = h("ul", { class: "rows" });
const more = h("button", { type: "button", class: "button", t: "more", hidden: true, on: { click: () => read() } });
const message = h("div", {});
let state = null;
let next = null;

export function createDocuments(view) {
  const uploads = createUploads({ done: () => read({ fresh: true }) });
  tabs.append(
    ...STATES.map((value) =>
      h("button", {
        type: "button",
        class: "tab",
        "data-state": value,
        t: `state_${value || "all"}`,
        on: { click: () => choose(value) },
      }),
    ),
  );
  view.append(
    h("h1", { t: "view_documents" }),
    uploads.element,
    h(
      "div",
      { class: "toolbar" },
      tabs,
      filter,
      iconButton("retry", "refresh", () => read({ fresh: true })),
    ),
    message,
    list,
    more,
  );
  config().then(
    ({ uploads: allowed }) => allowed && uploads.start(),
    () => {},
  );
  return { show };
}

function choose(value) {
  go("documents", { parameters: value ? { state: value } : {} });
}

function show({ parameters }) {
  const wanted = parameters.get("state") ?? "";
  state = STATES.includes(wanted) ? wanted : "";
  for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.state === state));
  read({ fresh: true });
}

async function read({ fresh = false } = {}) {
  const turn = state;
  if (fresh) next = null;
  more.disabled = true;
  try {
    const found = await get(address("/api/documents", { state, after: next, limit: PAGE }));
    if (turn !== state) return;
    const rows = found.documents.map(row);
    if (fresh) list.replaceChildren(...rows);
    else list.append(...rows);
    next = found.next;
    more.hidden = next === null;
    message.replaceChildren(...(list.children.length ? [] : [empty("file", `none_${state || "all"}`)]));
    narrow();
  } catch (error) {
    if (turn === state) message.replaceChildren(failure(error, () => read({ fresh })));
  } finally {
    more.disabled = false;
  }
}

function row(document) {
  const { source, title, state: now, reason, chunks, modified_at: modified, locale } = document;
  const path = h("span", { class: "path" }, source);
  const words = h("span", { class: "row-title" }, title || name(source));
  const button = h(
    chunks > 0 ? "button" : "div",
    chunks > 0
      ? { type: "button", class: "row-main", on: { click: () => openPassage({ source }, button) } }
      : { class: "row-main" },
    words,
    path,
  );
  return h(
    "li",
    { class: "row", "data-words": `${title} ${source}`.toLowerCase() },
    button,
    h(
      "span",
      { class: "row-facts" },
      locale && locale !== "und" ? h("span", { class: "locale" }, locale) : null,
      chunks > 0 && h("span", { t: "passages", values: { n: chunks } }),
      when(modified),
      h("span", { class: `badge ${now}`, t: `state_${now}` }),
    ),
    reason && h("p", { class: "reason", lang: "en" }, reason),
  );
}

function narrow() {
  const words = filter.value.toLowerCase().trim();
  for (const item of list.children) item.hidden = !item.dataset.words.includes(words);
}
