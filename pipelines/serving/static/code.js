// Code in colours. The highlighter and each of its grammars are loaded when the first block needs them.
import { h, iconButton, toast } from "./dom.js";
import { t } from "./language.js";
import { sanitised } from "./markdown.js";

// What writers call the languages whose grammars are in vendor/highlight.
const NAMES = {
  bash: "bash sh shell zsh console",
  python: "python py",
  sql: "sql postgresql pgsql",
  json: "json jsonc",
  yaml: "yaml yml",
  xml: "xml html svg",
  javascript: "javascript js jsx",
  typescript: "typescript ts tsx",
  ini: "ini toml conf",
  dockerfile: "dockerfile docker",
  diff: "diff patch",
  http: "http",
  go: "go",
  java: "java",
};
const GRAMMARS = new Map(
  Object.entries(NAMES).flatMap(([grammar, names]) => names.split(" ").map((name) => [name, grammar])),
);
const LONGEST = 50_000; // characters; colouring more takes longer than it helps
const loaded = new Map();

/** Give a `pre > code` its colours, soon, and a button that copies it. */
export function colour(block) {
  const pre = block.parentElement;
  const box = h("div", { class: "code-box" });
  pre.tabIndex = 0; // long lines scroll by keyboard too
  pre.replaceWith(box);
  box.append(
    pre,
    iconButton("copy", "copy", () => copy(block.textContent)),
  );
  const name = /language-([\w+#-]+)/.exec(block.className)?.[1]?.toLowerCase();
  const grammar = GRAMMARS.get(name);
  if (!grammar || block.textContent.length > LONGEST) return;
  highlighter(grammar).then(
    (library) => {
      const { value } = library.highlight(block.textContent, { language: grammar });
      block.replaceChildren(sanitised(value));
    },
    () => {}, // plain code reads as well
  );
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copied"));
  } catch {
    toast(t("not_copied"));
  }
}

async function highlighter(grammar) {
  if (!loaded.has(grammar)) {
    loaded.set(
      grammar,
      Promise.all([import("./vendor/highlight/core.min.js"), import(`./vendor/highlight/${grammar}.min.js`)]).then(
        ([{ default: library }, { default: rules }]) => {
          library.registerLanguage(grammar, rules);
          return library;
        },
      ),
    );
  }
  return loaded.get(grammar);
}
