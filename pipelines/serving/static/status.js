// How the server is, and how far a change of model has come.
import { get } from "./api.js";
import { config } from "./config.js";
import { failure, h, part } from "./dom.js";
import { generation } from "./generation.js";
import { mark } from "./language.js";
import { route } from "./router.js";

const CALM = 300_000; // milliseconds between two looks: each may cost a hosted model a request
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
