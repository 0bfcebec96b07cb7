// Keys, pointers, and the stream of states.

// The shortest time between two drawings of states that come.
const DRAW_MS = 250;
const TABS = [
  ["graph", "graph"], ["callbacks", "callbacks"], ["waits", "waits"], ["queues", "queues"], ["told", "wrong"],
];
const stream = { source: null, next: null, last: 0, timer: 0, note: "connects" };

function drawStatus() {
  const text = view.isPaused ? "paused" : stream.note;
  if ($("status").textContent !== text) $("status").textContent = text;
  $("pause").setAttribute("aria-pressed", String(view.isPaused));
  $("pause").textContent = view.isPaused ? "go on" : "pause";
}

// Draws the newest state, at most four times a second. Those in between are skipped.
function arrive() {
  stream.timer = 0;
  if (view.isPaused || !stream.next) return;
  const text = stream.next;
  stream.next = null;
  stream.last = performance.now();
  take(JSON.parse(text));
  const count = view.state.programs.length;
  const programs = `${count} program${count === 1 ? "" : "s"}`;
  stream.note = `${clock(view.state.time_ms).slice(0, 8)}  ${programs}, every ${view.state.interval_s} s`;
  drawStatus();
  drawAll();
}

function connect() {
  if (stream.source || document.hidden) return;
  const source = new EventSource("events");
  stream.source = source;
  source.onmessage = (event) => {
    stream.next = event.data;
    const wait = Math.max(0, DRAW_MS - (performance.now() - stream.last));
    if (!stream.timer) stream.timer = setTimeout(arrive, wait);
  };
  source.onerror = () => {
    stream.note = "connection lost, tries again";
    drawStatus();
    // The browser tries again by itself, unless the answer was no stream.
    if (source.readyState === EventSource.CLOSED) {
      disconnect();
      setTimeout(connect, 2000);
    }
  };
}

function disconnect() {
  stream.source?.close();
  stream.source = null;
}

function setPaused(isPaused) {
  view.isPaused = isPaused;
  drawStatus();
  if (!isPaused) arrive();
}

function showTab(tab) {
  view.tab = tab;
  for (const [name] of TABS) $(name).classList.toggle("current", name === tab);
  for (const button of $("tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
  if (view.state) {
    drawGraph();
    drawCallbacks();
  }
}

function select(id) {
  view.selected = id;
  showInGraph(id);
  drawGraph();
  drawCallbacks();
  if (id && $("detail").open) drawDetail();
}

function open() {
  if (!view.byId.has(view.selected)) return;
  if (!$("detail").open) $("detail").showModal();
  drawDetail();
}

function step(by) {
  const rows = shownRows();
  if (!rows.length) return;
  const place = rows.findIndex((of) => of.id === view.selected);
  const from = place >= 0 ? place : by > 0 ? -1 : rows.length;
  const next = Math.min(rows.length - 1, Math.max(0, from + by));
  select(rows[next].id);
  callbackTable.reveal(next);
}

function sortBy(key) {
  if (view.sort === key) view.isReversed = !view.isReversed;
  else [view.sort, view.isReversed] = [key, false];
  drawCallbacks();
}

function sortByNext(by) {
  const keys = COLUMNS.map(([key]) => key).filter(hasColumn);
  view.sort = keys[(keys.indexOf(view.sort) + by + keys.length) % keys.length];
  drawCallbacks();
}

const KEYS = [
  ["up, down, j, k", "another callback; PgUp, PgDn, Home, End likewise"],
  ["Enter", "the callback by itself: its times, its topics, and what it waits for"],
  ["Esc", "back; then no selection, no chain, no filter"],
  ["/", "show only what has a text in its name, executor, group, topic or program, with its chains"],
  ["p, space", "pause"],
  ["s, <, >", "sort by another column; r the other way round"],
  ["i", "show the callbacks that every node has, of its parameters and log"],
  ["1 to 5", "graph, callbacks, waits, queues, what went wrong"],
  ["?", "this help"],
];

function showHelp() {
  const box = $("help");
  const list = make("dl");
  for (const [key, text] of KEYS) list.append(make("dt", "", key), make("dd", "", text));
  for (const [, title, , , , text] of COLUMNS) list.append(make("dt", "", title), make("dd", "", text));
  const close = make("button", "", "back (Esc)");
  close.addEventListener("click", () => box.close());
  box.replaceChildren(make("h2", "", "Keys and columns"), list, close);
  box.showModal();
}

// Takes back the last thing that hides something; returns nothing.
function back() {
  if (view.selected) return select(null);
  if (view.chain) view.chain = null;
  else {
    view.filter = "";
    $("filter").value = "";
  }
  drawAll();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  if (document.activeElement === $("filter")) {
    if (event.key === "Enter") $("filter").blur();
    if (event.key === "Escape") {
      $("filter").value = "";
      view.filter = "";
      $("filter").blur();
      drawAll();
    }
    return;
  }
  const isButton = document.activeElement?.tagName === "BUTTON";
  if (isButton && (event.key === " " || event.key === "Enter")) return;
  const pause = () => setPaused(!view.isPaused);
  const all = view.rows.length;
  const actions = {
    "/": () => $("filter").focus(), p: pause, " ": pause, "?": showHelp, h: showHelp,
    ArrowDown: () => step(1), j: () => step(1), ArrowUp: () => step(-1), k: () => step(-1),
    PageDown: () => step(callbackTable.room()), PageUp: () => step(-callbackTable.room()),
    Home: () => step(-all), g: () => step(-all), End: () => step(all), G: () => step(all), Enter: open,
    s: () => sortByNext(1), ">": () => sortByNext(1), "<": () => sortByNext(-1), r: () => sortBy(view.sort),
    i: () => {
      view.hasInternals = !view.hasInternals;
      if (!view.state) return;
      view.rows = [...view.byId.values()].filter((of) => view.hasInternals || !of.internal);
      drawAll();
    },
  };
  const tab = TABS[Number(event.key) - 1];
  if (event.key === "Escape" && !$("detail").open) back();
  else if (tab && event.key.length === 1) {
    showTab(tab[0]);
    $(tab[0]).focus();
  } else if (Object.hasOwn(actions, event.key)) actions[event.key]();
  else return;
  event.preventDefault();
}

function begin() {
  for (const [name, title] of TABS) {
    const button = make("button", "", title);
    button.dataset.tab = name;
    button.addEventListener("click", () => showTab(name));
    $("tabs").append(button);
  }
  showTab("callbacks");
  addEventListener("keydown", onKey);
  $("pause").addEventListener("click", () => setPaused(!view.isPaused));
  $("help-button").addEventListener("click", showHelp);
  $("filter").addEventListener("input", () => {
    view.filter = $("filter").value;
    drawAll();
  });
  $("chains").addEventListener("click", (event) => {
    const name = event.target.dataset.chain;
    if (name === undefined) return;
    view.chain = view.chain === name ? null : name;
    drawAll();
  });
  document.querySelector("#callbacks .head").addEventListener("click", (event) => {
    if (event.target.dataset.sort) sortBy(event.target.dataset.sort);
  });
  const pick = (event) => {
    const row = event.target.closest("[data-id], [data-name]");
    if (!row) return;
    const { id: own, name, pid } = row.dataset;
    const id = own ?? [...view.byId.values()].find((of) => of.name === name && String(of.program.pid) === pid)?.id;
    if (!view.byId.has(id)) return;
    const isSecond = view.selected === id;
    select(id);
    // A finger has no Enter key.
    if (isSecond || matchMedia("(max-width: 800px)").matches) open();
  };
  for (const box of document.querySelectorAll(".list, #graph-scroll")) box.addEventListener("click", pick);
  $("graph-scroll").addEventListener("scroll", () => requestAnimationFrame(drawGraph), { passive: true });
  addEventListener("resize", () => drawAll());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  // A page that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  drawStatus();
  connect();
}

begin();
