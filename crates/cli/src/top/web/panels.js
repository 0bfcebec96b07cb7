// The parts of the page around graph and table: programs, lateness, waits, queues, what went wrong, and one callback by
// itself.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Replaces what is in an element, unless it would look the same.
function replace(element, key, children) {
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.replaceChildren(...children());
}

function drawPrograms() {
  const all = view.state.programs;
  const texts = all.map((program) => {
    const missed = program.callbacks.reduce((sum, of) => sum + of.missed_total, 0);
    const lost = program.callbacks.reduce((sum, of) => sum + of.lost_total, 0);
    const shown = program.callbacks.filter((of) => view.hasInternals || !of.internal).length;
    const hidden = program.callbacks.length - shown;
    const counts = [`${(program.cpu * 100).toFixed(0)}% CPU`, `${shown}${hidden ? ` (+${hidden})` : ""} callbacks`,
      `${short(program.events_per_s)} events/s`, `${missed} missed`, `${lost} lost`];
    if (program.not_seen) counts.push(`${program.not_seen} events not seen`);
    const text = program.trouble ?? counts.join(", ");
    const className = program.trouble || missed ? "bad" : lost ? "lossy" : "";
    return { name: `${program.pid} ${program.name}`, text, className };
  });
  replace($("programs"), JSON.stringify(texts), () => {
    if (!texts.length) {
      const text = "No program of rospin runs here that can be watched: one that calls rospin::init can, unless "
        + "ROSPIN_LIVE is 0 for it. Programs that start are found.";
      return [make("div", "soft", text)];
    }
    return texts.map(({ name, text, className }) => {
      const line = make("div", className);
      line.append(make("b", "", name), ` ${text}`);
      return line;
    });
  });
  const overdue = all.flatMap((program) => program.overdue).sort((one, other) => other.for_ns - one.for_ns);
  const lines = overdue.slice(0, 3).map((one) => one.text);
  if (overdue.length > 3) lines.push(`… and ${overdue.length - 3} more do not run`);
  replace($("alerts"), lines.join("\n"), () => lines.map((text) => make("div", "", text)));
}

// Returns the canvas's pen after it was made as large as its element.
function pen(canvas) {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}

// Draws the worst response of each interval as a part of its limit: the newest at the right, red beyond the limit.
function drawLateness() {
  const { context, width, height } = pen($("lateness-plot"));
  const most = 2;
  const foot = height - 2;
  const y = (part) => foot - (Math.min(part, most) / most) * (foot - 2);
  const step = width / (2 * PAST);
  view.worst.forEach((worst, place) => {
    const x = width - (view.worst.length - place) * step;
    context.fillStyle = colour(worst.part > 1 || worst.missed ? "bad" : "good");
    const top = y(Math.max(worst.part, worst.missed ? 1 : 0));
    context.fillRect(x, top, Math.max(1, step - 0.5), foot - top);
  });
  context.strokeStyle = colour("soft");
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(0, y(1));
  context.lineTo(width, y(1));
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = colour("soft");
  context.fillText("deadline or bound", 4, y(1) - 3);
  const now = view.worst[view.worst.length - 1];
  $("lateness-now").textContent = now?.part
    ? `${now.name}: ${time(now.ns)}, ${(now.part * 100).toFixed(0)} % of ${time(now.limit)}`
    : "no callback with a deadline or a bound ran";
}

function bar(className, fill, most) {
  const outer = make("span", `bar ${className}`);
  for (const [name, part] of [["most", most], ["", fill]]) {
    const inner = make("i", name);
    inner.style.width = `${Math.min(100, part * 100)}%`;
    outer.append(inner);
  }
  return outer;
}

// The largest number of rows of a list that is no table: the first ones count, and the filter finds the others.
const LISTED = 40;

function nothing(list, key, text) {
  const shown = view.filter ? "Nothing here has this text." : text;
  replace(list, `none ${key} ${view.filter !== ""}`, () => [make("div", "none", shown)]);
}

function isShown(program, name) {
  return view.hasInternals || !program.callbacks.some((of) => of.internal && of.name === name);
}

function drawWaits() {
  const list = document.querySelector("#waits .list");
  const interval = Math.max(1, view.state.interval_s * 1e9);
  let leftOut = 0;
  const all = [];
  for (const program of view.state.programs) {
    leftOut += program.waits?.left_out ?? 0;
    for (const wait of program.waits?.pairs ?? []) {
      if (isShown(program, wait.callback) && passes(wait.callback, wait.culprit, program.name)) {
        all.push({ ...wait, pid: program.pid });
      }
    }
  }
  all.sort((one, other) => other.ended_ns + other.still_ns - one.ended_ns - one.still_ns);
  $("waits-note").textContent = leftOut ? `${leftOut} waits are not explained: too many` : "";
  if (!all.length) return nothing(list, "waits", "Nothing waited longer than 200us for another callback.");
  replace(list, JSON.stringify(all), () => all.slice(0, LISTED).map((wait) => {
    const row = make("div", "row tall");
    row.dataset.id = `${wait.pid}/${wait.place}`;
    const still = wait.still_ns ? `, still ${time(wait.still_ns)}` : "";
    const name = make("span", "name");
    name.append(make("b", "", wait.callback), ` waits for ${wait.reason}`);
    if (wait.culprit) name.append(": ", make("b", "", wait.culprit));
    const part = (wait.ended_ns + wait.still_ns) / interval;
    const sum = make("span", "soft", `${time(wait.ended_ns)}${still}`);
    row.append(name, sum, bar(wait.still_ns ? "lossy" : "", part, 0));
    return row;
  }));
}

function drawQueues() {
  const list = document.querySelector("#queues .list");
  const all = [];
  let full = 0;
  for (const program of view.state.programs) {
    for (const queue of program.queues) {
      const taker = queue.callback ?? "-";
      if (!isShown(program, taker) || !passes(queue.topic, taker)) continue;
      const part = queue.max / Math.max(1, queue.depth);
      full += part >= 1 ? 1 : 0;
      all.push({ ...queue, taker, part, pid: program.pid });
    }
  }
  all.sort((one, other) => other.part - one.part || (one.topic < other.topic ? -1 : 1));
  const which = all.length > LISTED ? `; the fullest ${LISTED}` : "";
  $("queues-note").textContent = all.length ? `${all.length}, ${full} full${which}` : "";
  if (!all.length) return nothing(list, "queues", "No queue is shown.");
  replace(list, JSON.stringify(all.slice(0, LISTED)), () => all.slice(0, LISTED).map((queue) => {
    const row = make("div", "row tall");
    row.dataset.name = queue.taker;
    row.dataset.pid = queue.pid;
    const name = make("span", "name");
    name.append(make("b", "", queue.topic), make("span", "soft", ` ${queue.taker}`));
    const depth = Math.max(1, queue.depth);
    row.append(name, make("span", "soft", `${queue.fill}, most ${queue.max} of ${queue.depth}`),
      bar(queue.part >= 1 ? "bad" : queue.part >= 0.75 ? "lossy" : "", queue.fill / depth, queue.part));
    return row;
  }));
}

function drawTold() {
  const list = document.querySelector("#told .list");
  const all = view.state.told.filter((one) => passes(one.callback, one.program, one.text)).reverse();
  $("told-note").textContent = view.state.told_total ? `${view.state.told_total} since the command began` : "";
  if (!all.length) return nothing(list, "told", "Nothing yet.");
  replace(list, JSON.stringify(all), () => all.map((one) => {
    const row = make("div", "row tall");
    if (one.place) row.dataset.id = `${one.pid}/${one.place}`;
    const name = make("span", `name ${one.kind === "program" ? "" : one.kind === "lost" ? "lossy" : "bad"}`);
    name.append(...(one.callback ? [make("b", "", one.callback), " "] : []), one.text);
    row.append(make("span", "soft", clock(one.time_ms)), name);
    return row;
  }));
}

const callbackTable = virtualList(document.querySelector("#callbacks .list"), (row, of) => {
  const columns = COLUMNS.filter(([key]) => hasColumn(key));
  row.dataset.id = of.id;
  row.title = of.name;
  row.className = `row ${healthOf(of)}`;
  row.setAttribute("aria-selected", String(of.id === view.selected));
  cells(row, [[`chip ${of.kind}`], ...columns.map(([, , className, text]) => [className, text(of)])]);
}, make("div", "head"));

function drawCallbacks() {
  const rows = shownRows();
  const head = document.querySelector("#callbacks .head");
  const columns = COLUMNS.filter(([key]) => hasColumn(key));
  const titles = () => columns.map(([key, title, className, , , help]) => {
    const isSorted = key === view.sort;
    const arrow = view.isReversed ? " ▲" : " ▼";
    const cell = make("span", className.replace("key", ""), isSorted ? title + arrow : title);
    cell.classList.toggle("sorted", isSorted);
    cell.title = help;
    cell.dataset.sort = key;
    return cell;
  });
  const state = [columns.map(([key]) => key), view.sort, view.isReversed];
  replace(head, state.join(), () => [make("span", "chip"), ...titles()]);
  callbackTable.show(rows);
  const hidden = view.byId.size - view.rows.length;
  const more = hidden ? ` (+${hidden} that every node has: i)` : "";
  $("callbacks-note").textContent = `${rows.length} of ${view.rows.length}${more}`;
}

function drawChains() {
  const chains = view.state.chains;
  if (view.chain && !chains.some((chain) => chain.name === view.chain)) view.chain = null;
  const texts = chains.map((chain) => {
    const members = chain.callbacks.map((name) => view.byName.get(name)).filter(Boolean);
    const last = view.byName.get(chain.callbacks[chain.callbacks.length - 1]);
    const bounds = [last ? `${short(last.rate_hz)} Hz` : "not here"];
    if (chain.bound_ns !== undefined) bounds.push(`bound ${time(chain.bound_ns)}`);
    if (chain.deadline_ns !== undefined) bounds.push(`deadline ${time(chain.deadline_ns)}`);
    const isBad = members.some((of) => healthOf(of) === "bad");
    return { name: chain.name, text: `${chain.name}: ${bounds.join(", ")}`, isBad };
  });
  replace($("chains"), JSON.stringify([texts, view.chain]), () => texts.map(({ name, text, isBad }) => {
    const button = make("button", isBad ? "bad" : "", text);
    button.dataset.chain = name;
    button.setAttribute("aria-pressed", String(name === view.chain));
    return button;
  }));
}

function drawAll() {
  if (!view.state) return;
  drawPrograms();
  drawLateness();
  drawChains();
  drawGraph();
  drawWaits();
  drawQueues();
  drawTold();
  drawCallbacks();
  if ($("detail").open) drawDetail();
}

// Draws a callback by itself: its settings, its last intervals, and what it waits for.
function drawDetail() {
  const box = $("detail");
  const of = view.byId.get(view.selected);
  if (!of) return box.replaceChildren(make("h2", "", "This callback is gone."));
  const past = view.past.get(of.id) ?? { p99: [], max: [] };
  const limit = limitOf(of);
  const whose = `${of.program.pid} ${of.program.name}`;
  const used = `${(of.utilisation * 100).toFixed(1)} % of a thread`;
  const times = (all) => (all ? `50% ${time(all.p50_ns)} 99% ${time(all.p99_ns)} max ${time(all.max_ns)}` : "-");
  const wrong = [[of.missed_total, "missed"], [of.lost_total, "lost"], [of.overruns_total, "due times skipped"],
    [of.incidents_total, "panics and errors"]];
  const entries = [
    ["callback", `${of.kind} of ${of.executor} in ${whose}, group ${of.group}, priority ${of.priority}`],
    ["activations", `${of.runs_total}, ${short(of.rate_hz)} a second, ${used}`],
    ["execution", times(of.execution)],
    ["response", times(of.response)],
    ["longest", `${time(of.worst_ns)}${of.waiting_ns ? `, waits for ${time(of.waiting_ns)} by now` : ""}`],
    ["limits", `period ${time(of.period_ns)}, deadline ${time(of.deadline_ns)}, bound ${time(of.bound_ns)}`],
    ["went wrong", wrong.map(([count, what]) => `${count} ${what}`).join(", ")],
    ["hears", of.hears.map((queue) => `${queue.topic} (${queue.fill} of ${queue.depth})`).join(", ") || "-"],
    ["publishes", of.sends.map((send) => `${send.topic} (${short(send.rate_hz)} Hz)`).join(", ") || "-"],
  ];
  const pairs = of.program.waits?.pairs ?? [];
  const wait = (text, found) => found.length && entries.push([text, found.join(", ")]);
  const same = (place) => `${of.program.pid}/${place}` === of.id;
  const sum = (pair) => time(pair.ended_ns + pair.still_ns);
  const own = pairs.filter((pair) => same(pair.place));
  const others = pairs.filter((pair) => pair.culprit && same(pair.culprit_place));
  wait("waits for", own.map((pair) => `${pair.culprit ?? pair.reason} ${sum(pair)}`));
  wait("keeps waiting", others.map((pair) => `${pair.callback} ${sum(pair)}`));
  const overdue = of.program.overdue.find((one) => same(one.place));
  if (overdue) entries.push(["now", overdue.text]);
  if (!box.firstChild || box.dataset.of !== of.id) {
    box.dataset.of = of.id;
    const close = make("button", "", "back (Esc)");
    close.addEventListener("click", () => box.close());
    const title = make("h2");
    title.id = "detail-name";
    box.replaceChildren(title, make("canvas"), make("dl"), close);
  }
  $("detail-name").textContent = of.name;
  const list = box.querySelector("dl");
  const lines = () => entries.flatMap(([term, text]) => [make("dt", "", term), make("dd", "", text)]);
  replace(list, JSON.stringify(entries), lines);
  const { context, width, height } = pen(box.querySelector("canvas"));
  const most = Math.max(1, ...past.max, limit === Infinity ? 0 : limit * 1.1);
  const y = (ns) => height - 14 - (ns / most) * (height - 26);
  const step = width / PAST;
  for (const [values, name, wide] of [[past.max, "line", 1], [past.p99, "good", 0.6]]) {
    values.forEach((ns, place) => {
      context.fillStyle = ns > limit ? colour("bad") : colour(name);
      context.fillRect(width - (values.length - place) * step, y(ns), Math.max(1, step * wide), height - 14 - y(ns));
    });
  }
  context.fillStyle = colour("soft");
  context.fillText(`response of each interval: 99 % and longest, up to ${time(most)}`, 4, height - 3);
  if (limit !== Infinity) {
    context.strokeStyle = colour("bad");
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(0, y(limit));
    context.lineTo(width, y(limit));
    context.stroke();
    context.setLineDash([]);
    context.fillText(time(limit), 4, y(limit) - 3);
  }
}
