// The graph: callbacks as boxes from left to right, in the order in which messages go, with the topics between them.

const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 190, height: 40, across: 70, down: 12, margin: 10 };
const graph = { key: "", nodes: new Map(), edges: [], width: 0, height: 0 };

// Returns the connections: from a callback that publishes on a topic to each that takes from a queue of it.
function connections(rows) {
  const takers = new Map();
  for (const of of rows) {
    for (const queue of of.hears) {
      const known = takers.get(queue.topic) ?? [];
      known.push(of);
      takers.set(queue.topic, known);
    }
  }
  const found = [];
  for (const of of rows) {
    for (const send of of.sends) {
      for (const taker of takers.get(send.topic) ?? []) found.push({ from: of.id, to: taker.id, topic: send.topic });
    }
  }
  return found;
}

// Returns everything from which the callback gets data, or with `forwards` everything that its data reach.
function reach(id, edges, forwards) {
  const next = new Map();
  for (const edge of edges) {
    const [from, to] = forwards ? [edge.from, edge.to] : [edge.to, edge.from];
    if (!next.has(from)) next.set(from, []);
    next.get(from).push(to);
  }
  const seen = new Set([id]);
  const rest = [id];
  while (rest.length) {
    for (const to of next.get(rest.pop()) ?? []) {
      if (!seen.has(to)) {
        seen.add(to);
        rest.push(to);
      }
    }
  }
  return seen;
}

const chainOf = (id, edges) => new Set([...reach(id, edges, true), ...reach(id, edges, false)]);

// Returns the connections without those that lead back: followed from callbacks that nothing is before, they would
// close a cycle.
function withoutCycles(ids, edges) {
  const after = new Map(ids.map((id) => [id, []]));
  const hasSource = new Set();
  for (const edge of edges) {
    after.get(edge.from).push(edge);
    hasSource.add(edge.to);
  }
  const kept = [];
  const seen = new Set();
  const open = new Set();
  for (const start of [...ids.filter((id) => !hasSource.has(id)), ...ids]) {
    if (seen.has(start)) continue;
    const stack = [[start, 0]];
    seen.add(start);
    open.add(start);
    while (stack.length) {
      const top = stack[stack.length - 1];
      const edge = after.get(top[0])[top[1]];
      top[1] += 1;
      if (!edge) {
        open.delete(top[0]);
        stack.pop();
      } else if (!open.has(edge.to)) {
        kept.push(edge);
        if (!seen.has(edge.to)) {
          seen.add(edge.to);
          open.add(edge.to);
          stack.push([edge.to, 0]);
        }
      }
    }
  }
  return kept;
}

// Returns the layer of each callback: one more than that of those before it. The connections have no cycle.
function layers(ids, edges) {
  const before = new Map(ids.map((id) => [id, []]));
  for (const edge of edges) before.get(edge.to).push(edge.from);
  const layer = new Map();
  const visit = (start) => {
    const stack = [[start, 0]];
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [id, place] = top;
      const sources = before.get(id);
      if (place < sources.length) {
        top[1] += 1;
        const source = sources[place];
        if (!layer.has(source)) stack.push([source, 0]);
        continue;
      }
      layer.set(id, Math.max(0, ...sources.map((source) => layer.get(source) + 1)));
      stack.pop();
    }
  };
  for (const id of ids) if (!layer.has(id)) visit(id);
  return layer;
}

// Places the callbacks of one connected part below `top`, and returns where it ends.
function placePart(ids, edges, top) {
  const layer = layers(ids, withoutCycles(ids, edges));
  const columns = [];
  for (const id of ids) {
    const number = layer.get(id);
    while (columns.length <= number) columns.push([]);
    columns[number].push(id);
  }
  const beside = new Map(ids.map((id) => [id, []]));
  for (const edge of edges) {
    beside.get(edge.from).push(edge.to);
    beside.get(edge.to).push(edge.from);
  }
  const order = new Map();
  columns.forEach((column) => column.forEach((id, place) => order.set(id, place)));
  // Callbacks go to the height of those that they are connected with, so that few lines cross.
  for (let round = 0; round < 4; round += 1) {
    for (const column of round % 2 ? [...columns].reverse() : columns) {
      const mean = (id) => {
        const others = beside.get(id);
        return others.length ? others.reduce((sum, other) => sum + order.get(other), 0) / others.length : order.get(id);
      };
      const means = new Map(column.map((id) => [id, mean(id)]));
      column.sort((one, other) => means.get(one) - means.get(other) || order.get(one) - order.get(other));
      column.forEach((id, place) => order.set(id, place));
    }
  }
  const most = Math.max(...columns.map((column) => column.length));
  columns.forEach((column, number) => {
    const gap = ((most - column.length) * (BOX.height + BOX.down)) / 2;
    column.forEach((id, place) => {
      const x = BOX.margin + number * (BOX.width + BOX.across);
      graph.nodes.set(id, { x, y: top + gap + place * (BOX.height + BOX.down) });
    });
  });
  graph.width = Math.max(graph.width, BOX.margin * 2 + columns.length * (BOX.width + BOX.across) - BOX.across);
  return top + most * (BOX.height + BOX.down);
}

// Finds the places of all callbacks that are connected, if the connections are others than before.
function arrange(edges) {
  const key = edges.map((edge) => `${edge.from} ${edge.to}`).join();
  if (key === graph.key) return;
  graph.key = key;
  graph.nodes.clear();
  graph.width = 0;
  graph.edges = edges;
  const beside = new Map();
  for (const { from, to } of edges) {
    for (const [one, other] of [[from, to], [to, from]]) {
      if (!beside.has(one)) beside.set(one, []);
      beside.get(one).push(other);
    }
  }
  const parts = [];
  const seen = new Set();
  for (const id of beside.keys()) {
    if (seen.has(id)) continue;
    const part = [id];
    seen.add(id);
    for (let place = 0; place < part.length; place += 1) {
      for (const other of beside.get(part[place])) {
        if (!seen.has(other)) {
          seen.add(other);
          part.push(other);
        }
      }
    }
    parts.push(part);
  }
  parts.sort((one, other) => other.length - one.length);
  let top = BOX.margin;
  for (const part of parts) {
    const inside = new Set(part);
    top = placePart(part, edges.filter((edge) => inside.has(edge.from)), top);
  }
  graph.height = top;
}

// Returns the callbacks that are shown: all, or those of a chain, or those that the filter finds with all before and
// after them.
function graphRows() {
  if (view.chain) {
    const members = view.state.chains.find((chain) => chain.name === view.chain)?.callbacks ?? [];
    return view.rows.filter((of) => members.includes(of.name));
  }
  if (!view.filter) return view.rows;
  const edges = connections(view.rows);
  const shown = new Set();
  for (const of of shownRows()) if (!shown.has(of.id)) for (const id of chainOf(of.id, edges)) shown.add(id);
  return view.rows.filter((of) => shown.has(of.id));
}

function svg(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Scrolls to a callback of the graph if it cannot be seen.
function showInGraph(id) {
  const place = graph.nodes.get(id);
  const scroll = $("graph-scroll");
  if (!place) return;
  const { x, y } = place;
  const [left, top] = [scroll.scrollLeft, scroll.scrollTop];
  const isAcross = x >= left && x + BOX.width <= left + scroll.clientWidth;
  if (isAcross && y >= top && y + BOX.height <= top + scroll.clientHeight) return;
  scroll.scrollLeft = x - (scroll.clientWidth - BOX.width) / 2;
  scroll.scrollTop = y - (scroll.clientHeight - BOX.height) / 2;
}

// Draws the part of the graph that can be seen.
function drawGraph() {
  if (!view.state) return;
  const scroll = $("graph-scroll");
  const [width, height] = [scroll.clientWidth, scroll.clientHeight];
  if (!width || !height) return;
  const edges = connections(graphRows());
  arrange(edges);
  $("graph-space").style.width = `${graph.width}px`;
  $("graph-space").style.height = `${graph.height}px`;
  const [left, top] = [scroll.scrollLeft, scroll.scrollTop];
  const plot = $("graph-plot");
  plot.style.left = `${left}px`;
  plot.style.top = `${top}px`;
  plot.setAttribute("width", width);
  plot.setAttribute("height", height);
  const lit = view.selected && graph.nodes.has(view.selected) ? chainOf(view.selected, edges) : null;
  const isFar = (x, y, wide, tall) => x > left + width || x + wide < left || y > top + height || y + tall < top;
  const drawn = [];
  for (const edge of edges) {
    const from = graph.nodes.get(edge.from);
    const to = graph.nodes.get(edge.to);
    const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
    if (isFar(Math.min(x1, x2), Math.min(y1, y2), Math.abs(x2 - x1), Math.abs(y2 - y1))) continue;
    const rate = view.byId.get(edge.from)?.sends.find((send) => send.topic === edge.topic)?.rate_hz ?? 0;
    const isDim = lit && !(lit.has(edge.from) && lit.has(edge.to));
    const bend = Math.max(30, Math.abs(x2 - x1) / 2);
    const point = (x, y) => `${x - left},${y - top}`;
    const way = `M${point(x1, y1)} C${point(x1 + bend, y1)} ${point(x2 - bend, y2)} ${point(x2, y2)}`;
    const className = `${rate ? "" : "idle"}${isDim ? " dim" : ""}`;
    const path = svg("path", { d: way, class: className, "stroke-width": 1 + Math.log10(1 + rate) });
    path.append(svg("title", {}, `${edge.topic} ${short(rate)} Hz`));
    drawn.push(path);
    if ((edges.length <= 30 || (lit && !isDim)) && x2 > x1) {
      const middle = { x: (x1 + x2) / 2 - left, y: (y1 + y2) / 2 - top - 4, class: "small", "text-anchor": "middle" };
      drawn.push(svg("text", middle, `${short(rate)} Hz`));
    }
  }
  for (const [id, { x, y }] of graph.nodes) {
    const of = view.byId.get(id);
    if (!of || isFar(x, y, BOX.width, BOX.height)) continue;
    const group = svg("g", { transform: `translate(${x - left},${y - top})`, "data-id": id });
    const light = id === view.selected ? " selected" : lit && !lit.has(id) ? " dim" : "";
    group.setAttribute("class", `${healthOf(of)}${light}`);
    const limit = limitOf(of) === Infinity ? "" : ` of ${time(limitOf(of))}`;
    group.append(
      svg("title", {}, of.name),
      svg("rect", { width: BOX.width, height: BOX.height, rx: 4 }),
      svg("line", { x1: 3, x2: 3, y1: 4, y2: BOX.height - 4, class: of.kind }),
      svg("text", { x: 11, y: 16 }, ending(of.name, 24)),
      svg("text", { x: 11, y: 32, class: "small" }, `${short(of.rate_hz)} Hz  ${time(of.response?.p99_ns)}${limit}`),
    );
    drawn.push(group);
  }
  plot.replaceChildren(...drawn);
  const missing = view.rows.length - graph.nodes.size;
  const notes = [edges.length
    ? `${graph.nodes.size} callbacks, ${edges.length} connections`
    : "no message went from callback to callback yet"];
  if (edges.length && !view.filter && !view.chain && missing) notes.push(`${missing} without any are in the table`);
  $("graph-note").textContent = notes.join("; ");
}
