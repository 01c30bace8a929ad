"use strict";

// The page beside Model Explorer's web app, which runs in the frame. It chooses what the frame shows by its address, and
// learns by messages which node is selected there.

const element = (id) => document.getElementById(id);
const frame = element("graph");

let state = { subjects: [], versions: [], job: {} };
let shown = { subject: 0, version: -1, stage: "ttnn", graph: "", overlay: "predicted time (us)", beside: "" };
let info = null; // of the stage that is shown
let other = null; // of the stage or version beside it
let selected = "";
let selectedIn = ""; // version and stage of the selected node
let wantedSource = ""; // line of the op to select first
let shownVersion = -1;
let waiting = ""; // node to select once the frame has its graph

async function ask(path, body) {
  const request = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(`/explore/api/${path}`, request);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `The server answered ${response.status}.`);
  return answer;
}

function fail(error) {
  element("failure").hidden = !error;
  element("failure").textContent = error ? error.message || String(error) : "";
}

const guarded = (work) => async (...values) => { try { fail(""); await work(...values); } catch (error) { fail(error); } };

// State of the session

async function refresh() {
  const before = state;
  state = await ask("state");
  const { job } = state;
  element("arch").textContent = state.arch;
  element("job").hidden = !job.running;
  element("job-text").textContent = job.line ? `${job.what}: ${job.line}` : job.what;
  const ended = !job.running && job.number !== endedJob;
  if (ended) endedJob = job.number;
  document.body.classList.toggle("empty", !job.running && !state.versions.length);
  showExamples();
  fillVersions();
  const newest = state.versions.at(-1);
  const more = state.versions.length > before.versions.length;
  if (more && newest) {
    const name = shownNode && shownNode.name;
    shown.version = newest.number;
    shown.subject = newest.subject;
    await show(name);
    await noteChoices(newest);
  } else if (ended && shown.version >= 0) {
    if (!waiting && selectedIn === place()) waiting = selected;
    await show(); // a run adds overlays
  }
  if (ended && shown.version >= 0) element("versions").scrollIntoView({ block: "nearest" });
  if (ended && job.error) fail(job.error);
  document.body.dataset.busy = job.running ? "1" : "";
  timer = setTimeout(guardedRefresh, job.running ? 200 : 1000);
}

let timer = 0;
let endedJob = 0;

// Starts work of the server, and follows it.
async function start(path, body) {
  document.body.dataset.busy = "1";
  try { await ask(path, body); }
  finally {
    clearTimeout(timer);
    await refresh();
  }
}

function showExamples() {
  if (element("examples").children.length) return;
  element("examples").replaceChildren(...state.examples.map((example) => {
    const button = Object.assign(document.createElement("button"), { textContent: example });
    button.onclick = guarded(() => start("open", { example }));
    return button;
  }));
}

let noted = -1; // compilation that the note is about

// Says so if the choices of a compilation differ in nothing that the page shows from the compilation before it.
async function noteChoices(version) {
  const before = state.versions.filter((each) => each.subject === version.subject && each.number < version.number && !each.error).at(-1);
  const compared = before && !version.error && Object.keys((version.options.overrides || {}).ops || {}).length;
  const same = compared && !(await ask(`changes?version=${version.number}&other=${before.number}`)).length;
  if (!same) return;
  noted = version.number;
  element("note").hidden = false;
  element("note").textContent = `The choices change no place and no predicted time: every op is as in compilation ${before.number}.`;
}

let lost = false;
async function guardedRefresh() {
  try { await refresh(); lost = false; }
  catch (error) {
    if (!lost) fail(error);
    lost = true;
    timer = setTimeout(guardedRefresh, 2000);
  }
}

const number = (value, digits) => value === undefined || value === null ? "" : Number(value).toFixed(digits);

function fillVersions() {
  const own = state.versions.filter((version) => version.subject === shown.subject);
  const base = own.find((version) => version.predicted_us !== undefined);
  const rows = own.map((version) => {
    const row = document.createElement("tr");
    row.className = version.number === shown.version ? "shown" : "";
    row.dataset.version = version.number;
    row.title = Object.entries(version.options).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join("\n");
    const time = number(version.predicted_us, 1);
    const change = base && version !== base && version.predicted_us !== undefined
      ? Math.round(100 * (version.predicted_us / base.predicted_us - 1)) : 0;
    const cells = [
      version.error || version.run_error ? `${version.label}: failed` : version.label,
      time + (change ? ` (${change > 0 ? "+" : ""}${change}%)` : ""),
      number(version.l1_peak_bytes_per_core / 1024, 0), number(version.dram_peak_bytes / 1048576, 2), number(version.pcc, 5) + (version.runtime && version.runtime !== "emulated" ? ` (${version.runtime})` : ""),
    ];
    if (version.predicted_us === undefined) cells[2] = cells[3] = "";
    for (const text of cells) row.append(Object.assign(document.createElement("td"), { textContent: text }));
    if (change) row.cells[1].className = change < 0 ? "better" : "worse";
    row.onclick = guarded(async () => { shown.version = version.number; await show(); });
    return row;
  });
  element("versions").tBodies[0].replaceChildren(...rows);
}

function fill(select, entries, value) {
  const options = entries.map(([key, text]) => Object.assign(document.createElement("option"), { value: key, textContent: text }));
  select.replaceChildren(...options);
  select.value = value;
}

// The graph

const place = () => `${shown.version}/${shown.stage}`;

function current() { return state.versions[shown.version]; }

// Shows the version and stage that are chosen, at the op of a name if the version has it.
async function show(name) {
  const version = current();
  if (!version) return;
  document.body.dataset.graph = "";
  element("note").hidden = noted !== version.number;
  if (!version.stages.includes(shown.stage)) shown.stage = version.stages.at(-1) || "ttnn";
  fill(element("subject"), state.subjects.map((subject, index) => [index, subject.name]), shown.subject);
  const own = state.versions.filter((each) => each.subject === shown.subject);
  fill(element("version"), own.map((each) => [each.number, `${each.number}: ${each.label}`]), shown.version);
  fill(element("stage"), version.stages.map((stage) => [stage, stage]), shown.stage);
  const besides = [["", "nothing"]];
  for (const stage of version.stages) if (stage !== shown.stage) besides.push([`${shown.version}/${stage}`, `stage ${stage}`]);
  for (const each of own) {
    if (each !== version && each.stages.includes(shown.stage)) besides.push([`${each.number}/${shown.stage}`, `${each.number}: ${each.label}`]);
  }
  if (!besides.some(([key]) => key === shown.beside)) shown.beside = "";
  fill(element("beside"), besides, shown.beside);
  fail(version.error || version.run_error || version.warning);
  element("execute").disabled = version.predicted_us === undefined || !state.runs;
  element("compile").disabled = !state.subjects[shown.subject].can_compile;
  if (!version.stages.length) return; // of a file that cannot be read
  info = await ask(`stage?version=${shown.version}&stage=${shown.stage}`);
  if (name && !waiting) waiting = info.named[name] || "";
  other = null;
  if (shown.beside) {
    const [number, stage] = shown.beside.split("/");
    other = await ask(`stage?version=${number}&stage=${stage}`);
  }
  await showChanges();
  const overlays = info.overlays.length ? info.overlays : other ? other.overlays : [];
  fill(element("overlay"), [["", "none"], ...overlays.map((overlay) => [overlay.name, overlay.name])], shown.overlay);
  if (version.number !== shownVersion) {
    shownVersion = version.number;
    choices = (version.options.overrides || {}).ops || {};
    steps = [];
    showChoices();
  }
  element("level").value = version.options.optimization_level ?? 0;
  if (!(shown.graph in info.functions)) shown.graph = Object.keys(info.functions)[0];
  if (wantedSource) {
    waiting = (await ask(`find?version=${shown.version}&stage=${shown.stage}&source=${encodeURIComponent(wantedSource)}`)).node;
    wantedSource = "";
  }
  const failed = Object.keys(info.errors)[0];
  if (failed && !waiting) waiting = failed;
  load(waiting);
  fillVersions();
}

// Lists the ops that differ between the compilation that is shown and the one beside it.
async function showChanges() {
  const [number] = shown.beside.split("/");
  const between = shown.beside && Number(number) !== shown.version;
  const found = between ? await ask(`changes?version=${shown.version}&other=${number}`) : [];
  element("changes-section").hidden = !between;
  const words = (facts) => facts ? `${facts.place} ${facts.us.toFixed(2)} us` : "-";
  element("changes").tBodies[0].replaceChildren(...found.slice(0, 50).map((change) => {
    const row = document.createElement("tr");
    for (const text of [change.name, words(change.before), words(change.after)]) {
      row.append(Object.assign(document.createElement("td"), { textContent: text }));
    }
    if (change.after) row.onclick = guarded(async () => { waiting = change.after.node; await show(); await select(change.after.node); });
    return row;
  }));
}

const address = (stage) => element("constants").checked ? stage.with_constants : stage.graphs;

function load(node) {
  const pane = (stage, graph, chosen, width) => ({
    deepestExpandedGroupNodeIds: [], selectedNodeId: chosen, selectedGraphId: graph,
    selectedCollectionLabel: stage.label, widthFraction: width,
  });
  const models = [{ url: address(info) }];
  const panes = [pane(info, info.functions[node ? functionOf(node) : shown.graph], node || "", other ? 0.5 : 1)];
  const data = [], targets = [];
  const overlay = (stage) => {
    const found = stage.overlays.find((each) => each.name === element("overlay").value);
    if (found) { data.push(found.url); targets.push(stage.label); }
  };
  overlay(info);
  if (other) {
    models.push({ url: address(other) });
    panes.push(pane(other, Object.values(other.functions)[0], "", 0.5));
    overlay(other);
  }
  const query = { models, nodeData: data, nodeDataTargets: targets, uiState: { paneStates: panes } };
  const sync = other ? { mode: "match_node_id" } : undefined;
  if (sync && shown.beside.split("/")[1] === shown.stage) query.sync = sync;
  const url = `/?data=${encodeURIComponent(JSON.stringify(query))}&renderer=webgl&show_open_in_new_tab=0`;
  waiting = "";
  keepSelected(node);
  frame.contentWindow.location.replace(url);
}

// The app drops a selection while overlays arrive, so it is asked again until the node has been selected for a while.
let keeper = { node: "", times: 0, timer: 0 };

function keepSelected(node) {
  clearInterval(keeper.timer);
  keeper = { node, times: 0, timer: 0 };
  if (!node) return;
  const message = { cmd: "model-explorer-select-node-by-node-id", nodeId: node };
  keeper.timer = setInterval(() => frame.contentWindow.postMessage(message, "*"), 500);
}

function countSelected(node) {
  if (node !== keeper.node || ++keeper.times === 4) clearInterval(keeper.timer);
}

const functionOf = (node) => node.slice(0, node.lastIndexOf(":"));

// The selected node

window.addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || !event.data) return;
  if (event.data.cmd === "model-explorer-ready") document.body.dataset.graph = info ? info.label : "";
  if (event.data.cmd !== "model-explorer-node-selected") return;
  countSelected(event.data.nodeId);
  select(event.data.nodeId).catch(fail);
});

async function select(node) {
  if (!info || !node) return;
  [selected, selectedIn] = [node, place()];
  let facts;
  try { facts = await ask(`node?version=${shown.version}&stage=${shown.stage}&node=${encodeURIComponent(node)}`); }
  catch { return; } // a node of the pane beside
  element("node-section").hidden = false;
  element("node-section").dataset.node = node;
  element("node-title").textContent = `${facts.op}  ${facts.results.map((result) => result.tensor_shape || "").join(", ")}`;
  element("node-source").textContent = facts.source;
  element("node-source-text").textContent = facts.source_text;
  element("node-source-text").hidden = !facts.source_text;
  const words = [];
  if (facts.cost && facts.cost.us) words.push(`${facts.cost.us.toFixed(2)} us predicted, bound by ${facts.cost.bound}, ${facts.cost.cores} cores`);
  if (facts.results[0] && facts.results[0].memory) words.push(facts.results[0].memory);
  if (facts.pcc_alone !== undefined && facts.pcc_alone !== null) words.push(`PCC ${number(facts.pcc_alone, 6)} alone`);
  if (facts.pcc_so_far !== undefined && facts.pcc_so_far !== null) words.push(`${number(facts.pcc_so_far, 6)} so far`);
  element("node-facts").textContent = words.join("; ");
  element("node-links").replaceChildren(...Object.entries(facts.linked).flatMap(([stage, nodes]) => links(stage, nodes)));
  element("node-code").hidden = !facts.python;
  element("node-python").textContent = facts.python || "";
  element("node-cpp").textContent = facts.cpp || "";
  document.dispatchEvent(new CustomEvent("node-shown", { detail: facts }));
}

const MOST_LINKS = 12;

function links(stage, nodes) {
  if (!nodes.length) return [];
  const line = document.createElement("p");
  line.append(`in ${stage}: `);
  for (const node of nodes.slice(0, MOST_LINKS)) {
    const button = Object.assign(document.createElement("button"), { className: "link", textContent: node.label, title: node.id });
    button.dataset.stage = stage;
    button.dataset.node = node.id;
    button.onclick = guarded(async () => { shown.stage = stage; waiting = node.id; await show(); await select(node.id); });
    line.append(button);
  }
  if (nodes.length > MOST_LINKS) line.append(` and ${nodes.length - MOST_LINKS} more`);
  return [line];
}

// Choices for single ops: an override file in the making. Each compilation shows its own; undo goes back step by step.

let choices = {};
let steps = [];

function setChoices(next) {
  steps.push(choices);
  choices = next;
  showChoices();
}

function showChoices() {
  element("pending-section").hidden = !Object.keys(choices).length && !steps.length;
  element("undo").disabled = !steps.length;
  element("pending").replaceChildren(...Object.entries(choices).map(([name, choice]) => {
    const line = document.createElement("p");
    const words = Object.entries(choice).map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`);
    line.append(Object.assign(document.createElement("code"), { textContent: name }), ` ${words.join(", ")} `);
    const button = Object.assign(document.createElement("button"), { className: "link", textContent: "remove" });
    button.onclick = () => { const { [name]: removed, ...rest } = choices; setChoices(rest); };
    line.append(button);
    return line;
  }));
}

let shownNode = null;
const unchanged = ["", "as it is"];

function showChoice(facts) {
  shownNode = facts;
  element("choice-section").hidden = !facts.name;
  if (!facts.name) return;
  element("choice-name").textContent = facts.name;
  fill(element("choice-place"), [unchanged, ...facts.menu.map((entry, index) => [index, entry.text])], "");
  element("choice-place").disabled = !facts.menu.length;
  fill(element("choice-dtype"), [unchanged, ...["f32", "bf16", "bfp_bf8", "bfp_bf4"].map((each) => [each, each])], "");
  const fidelities = ["lofi", "hifi2", "hifi3", "hifi4"];
  fill(element("choice-fidelity"), [unchanged, ...fidelities.map((each) => [each, each])], "");
  fill(element("choice-fp32"), [unchanged, ["true", "yes"], ["false", "no"]], "");
  for (const id of ["choice-fidelity", "choice-fp32"]) element(id).disabled = !facts.compute_config;
  element("choice-grid").value = "";
  element("choice-config").value = "";
  element("choice-config").disabled = !Object.keys(facts.config).length && !facts.menu.some((entry) => Object.keys(entry.config).length);
  element("choice-config-known").textContent = Object.entries(facts.config).map(([key, value]) => `${key}=${value}`).join(" ");
}
document.addEventListener("node-shown", (event) => showChoice(event.detail));

const plainValue = (text) => text === "true" ? true : text === "false" ? false : /^-?\d+$/.test(text) ? Number(text) : text;

function namedValues(text) {
  const values = {};
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const cut = word.indexOf("=");
    if (cut < 1) throw new Error(`'${word}' was expected to be NAME=VALUE.`);
    values[word.slice(0, cut)] = plainValue(word.slice(cut + 1));
  }
  return values;
}

function choiceOfForm() {
  const place = element("choice-place").value;
  const choice = place === "" ? {} : { ...shownNode.menu[Number(place)].override };
  const grid = element("choice-grid").value.trim();
  if (grid) {
    const sizes = grid.split(/[x, ]+/).map(Number);
    if (sizes.length !== 2 || sizes.some((size) => !Number.isInteger(size))) throw new Error(`'${grid}' is no grid; expected rows x columns, such as 4x8.`);
    choice.grid = sizes;
  }
  if (element("choice-dtype").value) choice.dtype = element("choice-dtype").value;
  if (element("choice-fidelity").value) choice.math_fidelity = element("choice-fidelity").value;
  if (element("choice-fp32").value) choice.fp32_dest_acc_en = element("choice-fp32").value === "true";
  const config = namedValues(element("choice-config").value);
  if (Object.keys(config).length) choice.config = config;
  if (!Object.keys(choice).length) throw new Error("Nothing is chosen: change a field first.");
  return choice;
}

element("choose").onclick = guarded(() => setChoices({ ...choices, [shownNode.name]: choiceOfForm() }));
element("choose-all").onclick = guarded(() => setChoices({ ...choices, [shownNode.name.replace(/#\d+$/, "#*")]: choiceOfForm() }));
element("undo").onclick = () => { choices = steps.pop(); showChoices(); };
element("write").onclick = guarded(async () => {
  const { text } = await ask("overrides", { version: shown.version, ops: choices, options: chosenOptions() });
  const link = Object.assign(document.createElement("a"), { download: "overrides.yaml", href: URL.createObjectURL(new Blob([text])) });
  link.click();
});

// What people do

function changed(id, key, convert = (value) => value) {
  element(id).onchange = guarded(async () => { shown[key] = convert(element(id).value); await show(); });
}
element("subject").onchange = guarded(async () => {
  shown.subject = Number(element("subject").value);
  const own = state.versions.filter((version) => version.subject === shown.subject);
  if (own.length) { shown.version = own.at(-1).number; await show(); }
});
changed("version", "version", Number);
changed("stage", "stage");
changed("beside", "beside");
changed("overlay", "overlay");
element("constants").onchange = guarded(() => show());

function chosenOptions() {
  const options = { ...state.session_options, optimization_level: Number(element("level").value) };
  return { ...options, ...namedValues(element("options").value) };
}

element("compile").onclick = guarded(async () => {
  const options = chosenOptions();
  if (Object.keys(choices).length) options.overrides = { ops: choices };
  await start("compile", { subject: shown.subject, options });
});
element("execute").onclick = guarded(() => start("execute", { version: shown.version, runtime: element("runtime").value }));
element("export").onclick = () => { window.location.assign(`/explore/api/export?version=${shown.version}`); };
element("cancel").onclick = guarded(() => ask("cancel", {}));
element("open").onclick = guarded(async () => {
  const path = element("path").value;
  const run = path.endsWith(".py") && window.confirm(`Run the script ${path}?`);
  await start("open", { path, run });
});

// The address may name what to show first: ?node=main:12, or ?source=model.py:12 from a report.
const wanted = new URLSearchParams(window.location.search);
waiting = wanted.get("node") || "";
wantedSource = wanted.get("source") || "";
guardedRefresh();
