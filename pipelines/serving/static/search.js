// Search: passages as cards, and what narrows them.
import { address, get } from "./api.js";
import { card } from "./cards.js";
import { announce, failure, h } from "./dom.js";
import { t } from "./language.js";
import { go, route } from "./router.js";
import { folders } from "./library.js";

const RESULTS = 12;
const FIELDS = ["q", "folder", "locale", "mode"];

const option = (value, t) => h("option", { value, t });
const input = h("input", {
  id: "q",
  name: "q",
  type: "search",
  maxlength: "4000",
  placeholder: "search_placeholder",
  required: true,
});
const folder = h("select", { name: "folder", label: "folder" }, option("", "all_folders"));
const locale = h(
  "select",
  { name: "locale", label: "note_language" },
  option("", "any_language"),
  option("en", "english"),
  option("es", "spanish"),
);
const mode = h(
  "select",
  { name: "mode", label: "mode" },
  option("", "mode_hybrid"),
  option("vector", "mode_vector"),
  option("text", "mode_text"),
);
const results = h("div", { class: "results", "aria-live": "polite" });
const form = h(
  "form",
  { class: "search-form", role: "search", on: { submit } },
  h("label", { for: "q", class: "visually-hidden", t: "search_placeholder" }),
  h("div", { class: "search-box" }, input, h("button", { class: "button primary", icon: "search", t: "search" })),
  h("div", { class: "filters" }, folder, locale, mode),
);
let asked = "";

export function createSearch(view) {
  view.append(h("h1", { t: "view_search" }), form, results);
  for (const select of [folder, locale, mode])
    select.addEventListener("change", () => input.value.trim() && form.requestSubmit());
  return { show };
}

function submit(event) {
  event.preventDefault();
  const parameters = Object.fromEntries(
    FIELDS.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value),
  );
  const same = new URLSearchParams(parameters).toString();
  if (asked === same) run(parameters);
  else go("search", { parameters });
}

async function show({ parameters }) {
  if (folder.options.length === 1) {
    folders().then(
      (names) => {
        folder.append(...names.map((name) => h("option", { value: name }, name)));
        folder.value = route().parameters.get("folder") ?? "";
      },
      () => {},
    );
  }
  const wanted = Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name) ?? ""]));
  const filled = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value));
  const same = new URLSearchParams(filled).toString();
  if (same === asked && same) return; // only the document beside changed
  for (const name of FIELDS) form.elements[name].value = wanted[name];
  asked = same;
  if (wanted.q) await run(filled);
  else {
    results.replaceChildren(h("p", { class: "soft lead", t: "search_lead" }));
    input.focus();
  }
}

async function run(parameters) {
  asked = new URLSearchParams(parameters).toString();
  const turn = asked;
  results.setAttribute("aria-busy", "true");
  results.replaceChildren(
    h("p", { class: "trace" }, h("span", { class: "spinner", "aria-hidden": "true" }), h("span", { t: "searching" })),
  );
  try {
    const found = await get(address("/api/search", { ...parameters, k: RESULTS }));
    if (turn !== asked) return;
    results.replaceChildren(...shown(found));
    announce(t("results", { n: found.results.length }));
  } catch (error) {
    if (turn === asked) results.replaceChildren(failure(error, () => run(parameters)));
  } finally {
    if (turn === asked) results.removeAttribute("aria-busy");
  }
}

function shown({ query, answered, reason, results: passages, seconds }) {
  if (!answered) {
    return [
      h(
        "div",
        { class: "notice calm" },
        h("p", { t: "search_nothing" }),
        reason && h("p", { class: "soft", lang: "en" }, reason),
      ),
    ];
  }
  return [
    h("p", { class: "quiet", t: "results_in", values: { n: passages.length, ms: Math.round(seconds * 1000) } }),
    reason && h("p", { class: "quiet", lang: "en" }, reason),
    h("ol", { class: "cards list" }, ...passages.map((passage) => card(passage, { query }))),
  ].filter(Boolean);
}
