// One generation as a card: what it holds, and how far it is while it is being built.
import { h } from "./dom.js";
import { number, when } from "./language.js";

export function generation(found) {
  const { id, model, dimensions, state, chunks, embedded, switched_at: switched, created_at: created } = found;
  const building = state === "building";
  return h(
    "article",
    { class: `generation ${state}` },
    h("header", {}, h("h3", {}, model), h("span", { class: `badge ${state}`, t: `generation_${state}` })),
    h(
      "p",
      { class: "row-facts" },
      h("span", { t: "generation_id", values: { id: String(id) } }),
      h("span", { t: "dimensions", values: { n: dimensions } }),
      chunks > 0 && h("span", { t: "passages", values: { n: chunks } }),
      found.cost_usd > 0 && h("span", {}, `$${found.cost_usd.toFixed(2)}`),
      when(switched ?? created),
    ),
    (building || embedded < chunks) && chunks > 0 && bar("embedded_of", embedded, chunks),
    found.failed && h("p", { class: "notice bad", t: "generation_failed" }),
    found.held && h("p", { class: "notice", t: "generation_held" }),
    building && found.gate?.length > 0 && gate(found.gate),
    building && found.folders?.length > 0 && folders(found.folders),
  );
}

function gate(checks) {
  const rows = checks.map(({ name, passed, detail }) =>
    h(
      "li",
      { class: passed ? "passed" : "missed", icon: passed ? "check" : "warning" },
      h("span", { lang: "en" }, `${name}: ${detail}`),
    ),
  );
  return h("div", { class: "gate" }, h("h4", { t: "gate" }), h("ul", {}, ...rows));
}

function folders(found) {
  return h(
    "details",
    { class: "folders", open: true },
    h("summary", { t: "by_folder" }),
    h(
      "ul",
      {},
      ...found.map(({ folder, chunks, embedded }) => h("li", {}, bar("folder_of", embedded, chunks, folder))),
    ),
  );
}

function bar(t, done, total, name = "") {
  const values = { done: number(done), total: number(total), name: readable(name) };
  const progress = h("progress", { max: String(Math.max(total, 1)), value: String(done), label: t, values });
  return h("div", { class: "bar" }, h("span", { t, values }), progress);
}

/** A folder's name without the escapes of its key. */
function readable(folder) {
  try {
    return decodeURIComponent(folder);
  } catch {
    return folder;
  }
}
