// Files that readers bring: sent one after the other, with the stages that each goes through.
import { get, request } from "./api.js";
import { confirmed } from "./dialogs.js";
import { announce, h, iconButton, toast } from "./dom.js";
import { t, when } from "./language.js";
import { events } from "./stream.js";

const STAGES = ["parse", "chunk", "embed", "store"];
const TYPES = ".pdf,.md,.markdown,.txt";

/** `done` is called when a file has reached the index or has gone. */
export function createUploads({ done }) {
  const input = h("input", {
    type: "file",
    id: "upload",
    multiple: true,
    accept: TYPES,
    class: "visually-hidden",
    on: { change: chosen },
  });
  const zone = h(
    "div",
    { class: "drop", on: { dragover, dragleave, drop } },
    input,
    h("label", { for: "upload", class: "button", icon: "upload", t: "upload" }),
    h("p", { class: "soft", t: "upload_hint" }),
  );
  const running = h("ul", { class: "uploads" });
  const kept = h(
    "details",
    { class: "kept-uploads", hidden: true },
    h("summary", { t: "uploaded" }),
    h("ul", { class: "rows" }),
  );
  const element = h("section", { class: "upload", label: "uploads", hidden: true }, zone, running, kept);
  let queue = Promise.resolve();

  function chosen() {
    take([...input.files]);
    input.value = "";
  }

  function dragover(event) {
    event.preventDefault();
    zone.classList.add("over");
  }

  function dragleave() {
    zone.classList.remove("over");
  }

  function drop(event) {
    event.preventDefault();
    dragleave();
    take([...event.dataTransfer.files]);
  }

  function take(files) {
    for (const file of files) {
      const line = createLine(file.name);
      running.prepend(line.element);
      queue = queue
        .then(() => send(file, line))
        .then(refresh)
        .then(done);
    }
  }

  async function refresh() {
    try {
      const { uploads } = await get("/api/uploads");
      kept.hidden = uploads.length === 0;
      kept.lastElementChild.replaceChildren(...uploads.map(row));
    } catch {
      // the list of documents tells of a server that is away
    }
  }

  function row({ source, uploaded_at: at, state, reason }) {
    const file = source.split("/").at(-1);
    return h(
      "li",
      { class: "row" },
      h("span", { class: "row-main" }, h("span", { class: "row-title" }, file)),
      h(
        "span",
        { class: "row-facts" },
        when(at),
        h("span", { class: `badge ${state}`, t: `state_${state}` }),
        iconButton("trash", "delete", () => remove(file), { values: { title: file } }),
      ),
      reason && h("p", { class: "reason", lang: "en" }, reason),
    );
  }

  async function remove(file) {
    const sure = await confirmed("delete_upload", {
      text: "delete_upload_text",
      values: { title: file },
      confirm: "delete_it",
    });
    if (!sure) return;
    try {
      await request(`/api/uploads/${encodeURIComponent(file)}`, { method: "DELETE" });
    } catch (error) {
      toast(error.message);
    }
    await refresh();
    done();
  }

  return {
    element,
    start() {
      element.hidden = false;
      refresh();
    },
  };
}

function createLine(file) {
  const bar = h("progress", { max: "1", label: "upload_progress", values: { file } });
  const stage = h("span", { class: "stage", t: "stage_send" });
  const element = h("li", { class: "upload-line" }, h("span", { class: "row-title" }, file), stage, bar);
  return {
    element,
    at({ stage: name, done, total }) {
      stage.replaceChildren(h("span", { t: `stage_${name}` }));
      const share = total ? done / total : 0;
      bar.value = (STAGES.indexOf(name) + share) / STAGES.length;
    },
    end(state, reason) {
      bar.remove();
      stage.replaceChildren(h("span", { class: `badge ${state}`, t: `state_${state}` }));
      if (reason) element.append(h("p", { class: "reason", lang: "en" }, reason));
      announce(`${file}: ${t(`state_${state}`)}. ${reason ?? ""}`);
    },
  };
}

async function send(file, line) {
  try {
    const body = new FormData();
    body.append("file", file, file.name);
    const { upload_id: id } = await get("/api/uploads", { method: "POST", body });
    const answer = await request(`/api/uploads/${encodeURIComponent(id)}/events`);
    for await (const { name, data } of events(answer)) {
      if (name === "progress") line.at(data);
      else if (name === "end") return line.end(data.state, data.reason);
    }
    return line.end("pending", t("upload_cut"));
  } catch (error) {
    return line.end("refused", error.message);
  }
}
