// The page's assembly: views, places, theme, language.
import { createChat, forget } from "./chat.js";
import { keep } from "./choices.js";
import { createDocuments } from "./documents.js";
import { icon, part } from "./dom.js";
import { language, mark, setLanguage, t, translate } from "./language.js";
import { createMemories } from "./memories.js";
import { createQuestions } from "./questions.js";
import { follow, leave } from "./reader.js";
import { go, onRoute, startRouting } from "./router.js";
import { createSearch } from "./search.js";
import { createSessions } from "./sessions.js";
import { createStatus } from "./status.js";

const THEMES = ["auto", "light", "dark"];
const VIEWS = {
  chat: createChat,
  search: createSearch,
  documents: createDocuments,
  questions: createQuestions,
  memories: createMemories,
  status: createStatus,
};
const views = {};
const scrolled = {}; // how far each view was read
let shown = null;
let lastKey = null;

function show(place) {
  const name = place.view in VIEWS ? place.view : "chat";
  if (name !== shown) {
    if (shown) scrolled[shown] = part("main").scrollTop;
    for (const section of document.querySelectorAll(".view")) section.hidden = section.id !== `view-${name}`;
    for (const link of document.querySelectorAll("[data-view]")) {
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    part("main").scrollTop = scrolled[name] ?? 0;
    shown = name;
  }
  title();
  drawer(false);
  views[name] ??= VIEWS[name](part(`view-${name}`));
  const key = keyOf(place);
  if (key !== lastKey) views[name].show(place);
  lastKey = key;
}

/** The place without the document beside it. */
function keyOf({ view, argument, parameters }) {
  const rest = [...parameters].filter(([key]) => key !== "doc" && key !== "at");
  return JSON.stringify([view, argument, rest]);
}

function title() {
  document.title = `${t(`view_${shown}`)} · Vaultline`;
}

function drawer(open) {
  part("sidebar").classList.toggle("open", open);
  part("scrim").hidden = !open;
  part("menu").setAttribute("aria-expanded", String(open));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  keep("theme", theme);
  const button = part("theme");
  button.replaceChildren(icon(theme));
  mark(button, "tLabel", `theme_${theme}`);
}

function dress() {
  for (const element of document.querySelectorAll("[data-icon]")) element.prepend(icon(element.dataset.icon));
  translate();
  setTheme(document.documentElement.dataset.theme);
  part("theme").addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
  });
  part("language").value = language();
  part("language").addEventListener("change", (event) => setLanguage(event.target.value));
  document.addEventListener("language", title);
}

function listen() {
  part("menu").addEventListener("click", () => {
    drawer(true);
    part("menu-close").focus();
  });
  const close = () => {
    drawer(false);
    part("menu").focus();
  };
  part("menu-close").addEventListener("click", close);
  part("scrim").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
      if (part("sidebar").classList.contains("open")) close();
      else if (!part("reader").hidden) leave();
    } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      go("search");
      part("q")?.focus();
    }
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is the place, not an anchor
    part("main").focus();
  });
}

dress();
listen();
views.status = createStatus(part("view-status")); // its light is seen from everywhere
onRoute(show);
onRoute(follow);
createSessions({ forget });
startRouting();
