// How the server is, and how far a change of model has come.
import { get } from "./api.js";
import { config } from "./config.js";
import { failure, h, part } from "./dom.js";
import { mark, number, when } from "./language.js";
import { route } from "./router.js";

const CALM = 60_000; // milliseconds between two looks
const BUSY = 3_000; // while an index is being built and looked at

const health = h("ul", { class: "rows" });
const generations = h("div", { class: "generations" });
const about = h("p", { class: "quiet" });
let timer = null;

export function createStatus(view) {
  view.append(
    h("h1", { t: "view_status" }),
    h("h2", { t: "health" }),
    health,
    h("h2", { t: "generations" }),
    h("p", { class: "soft", t: "generations_lead" }),
    generations,
    about,
  );
  document.addEventListener("visibilitychange", () => !document.hidden && look());
  config().then(
    ({ version }) => about.replaceChildren(`Vaultline ${version}`),
    () => {},
  );
  look();
  return { show: look };
}

async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  const seen = route().view === "status";
  await examine();
  const building = seen && (await readGenerations());
  clearTimeout(timer);
  timer = setTimeout(look, building ? BUSY : CALM);
}

async function examine() {
  let report;
  try {
    report = await get("/api/health");
  } catch (error) {
    if (error.code === "no_token") return;
    report = {
      status: "unhealthy",
      components: error.body?.components ?? {},
      error: error.body?.components ? null : error,
    };
  }
  const dot = part("health-dot");
  dot.hidden = false;
  dot.className = `dot ${report.status}`;
  mark(dot, "t", `health_${report.status}`);
  health.replaceChildren(
    ...(report.error ? [h("li", {}, failure(report.error, look))] : []),
    ...Object.entries(report.components).map(([name, { status, detail }]) =>
      h(
        "li",
        { class: "row" },
        h("span", { class: "row-main" }, h("span", { class: "row-title", t: `component_${name}` })),
        h("span", { class: "row-facts" }, h("span", { class: `badge ${status}`, t: `health_${status}` })),
        detail && h("p", { class: "reason", lang: "en" }, detail),
      ),
    ),
  );
}

/** True while one is being built. */
async function readGenerations() {
  try {
    const found = (await get("/api/generations")).generations;
    generations.replaceChildren(...found.map(generation));
    return found.some(({ state }) => state === "building");
  } catch (error) {
    generations.replaceChildren(failure(error, look));
    return false;
  }
}

function generation({
  id,
  model,
  dimensions,
  state,
  chunks,
  embedded,
  pending,
  folders,
  created_at: created,
  switched_at: switched,
}) {
  const total = embedded + pending || chunks;
  return h(
    "article",
    { class: `generation ${state}` },
    h("header", {}, h("h3", {}, model), h("span", { class: `badge ${state}`, t: `generation_${state}` })),
    h(
      "p",
      { class: "row-facts" },
      h("span", { t: "generation_id", values: { id: String(id) } }),
      h("span", { t: "dimensions", values: { n: dimensions } }),
      h("span", { t: "passages", values: { n: chunks } }),
      when(switched ?? created),
    ),
    pending > 0 && bar("embedded_of", embedded, total),
    folders?.length > 0 && pending > 0
      ? h(
          "details",
          { class: "folders", open: state === "building" },
          h("summary", { t: "by_folder" }),
          h(
            "ul",
            {},
            ...folders.map((folder) => h("li", {}, bar("folder_of", folder.embedded, folder.chunks, folder.folder))),
          ),
        )
      : null,
  );
}

function bar(t, done, total, name = "") {
  const values = { done: number(done), total: number(total), name: decodeURIComponent(name) };
  return h(
    "div",
    { class: "bar" },
    h("span", { t, values }),
    h("progress", { max: String(Math.max(total, 1)), value: String(done), label: t, values }),
  );
}
