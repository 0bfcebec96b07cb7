// Tables of which only the rows that can be seen are drawn, and the columns of the table of callbacks.

// Returns a table in an element. `fill` puts an item into a row of it; rows are used again.
function virtualList(box, fill, head) {
  const space = make("div", "space");
  const pool = [];
  let items = [];
  if (head) box.append(head);
  box.append(space);
  const height = () => (matchMedia("(max-width: 800px)").matches ? 48 : 26);
  const topOf = () => (head ? head.offsetHeight : 0);
  const draw = () => {
    const tall = height();
    const top = topOf();
    space.style.height = `${items.length * tall}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / tall) - 2);
    const count = Math.min(items.length - first, Math.ceil(box.clientHeight / tall) + 4);
    for (let place = 0; place < Math.max(count, pool.length); place += 1) {
      if (place >= count) {
        pool[place].style.display = "none";
        continue;
      }
      if (!pool[place]) {
        pool[place] = make("div", "row");
        pool[place].setAttribute("role", "row");
        box.append(pool[place]);
      }
      const row = pool[place];
      row.style.display = "";
      row.style.top = `${top + (first + place) * tall}px`;
      fill(row, items[first + place]);
    }
  };
  box.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  new ResizeObserver(draw).observe(box);
  return {
    show(next) {
      items = next;
      box.setAttribute("aria-rowcount", String(items.length));
      draw();
    },
    reveal(place) {
      const tall = height();
      const top = place * tall;
      if (top < box.scrollTop) box.scrollTop = top;
      const bottom = top + tall + topOf();
      if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
      draw();
    },
    room: () => Math.max(1, Math.floor(box.clientHeight / height()) - 1),
  };
}

// Puts texts into the cells of a row, which are made once.
function cells(row, parts) {
  while (row.children.length < parts.length) row.append(make("span"));
  while (row.children.length > parts.length) row.lastChild.remove();
  parts.forEach(([className, text], place) => {
    const cell = row.children[place];
    if (cell.className !== className) cell.className = className;
    if (text !== undefined && cell.textContent !== text) cell.textContent = text;
  });
}

const known = (ns) => ns ?? -1;
const partOf = (of) => (limitOf(of) === Infinity ? -1 : longestOf(of) / limitOf(of));
const ifAny = (count) => (count ? short(count) : "-");
// The columns: key, title, class, text, number by which rows are sorted, and what it means.
const COLUMNS = [
  ["name", "CALLBACK", "name", (of) => of.name, null, "name"],
  ["program", "PROGRAM", "cell wide least", (of) => `${of.program.pid} ${of.program.name}`, null,
    "process and name of its program"],
  ["rate", "RATE", "cell", (of) => short(of.rate_hz), (of) => of.rate_hz, "activations in a second"],
  ["util", "UTIL", "cell least", (of) => `${(of.utilisation * 100).toFixed(1)}%`, (of) => of.utilisation,
    "part of a thread's time"],
  ["exec", "EXEC99", "cell least", (of) => time(of.execution?.p99_ns), (of) => known(of.execution?.p99_ns),
    "execution time that 99 of 100 activations of the interval do not exceed"],
  ["resp", "RESP99", "cell key", (of) => time(of.response?.p99_ns), (of) => known(of.response?.p99_ns),
    "time from release to end that 99 of 100 activations of the interval do not exceed"],
  ["max", "RSPMAX", "cell key more",
    (of) => (of.waiting_ns > (of.worst_ns ?? 0) ? `>${time(of.waiting_ns)}` : time(of.worst_ns)),
    (of) => known(Math.max(of.worst_ns ?? -1, of.waiting_ns ?? -1)),
    "the longest since it is watched; >: it waits so long by now"],
  ["deadline", "DEADLN", "cell more", (of) => time(of.deadline_ns), (of) => known(of.deadline_ns), "deadline"],
  ["bound", "BOUND", "cell", (of) => time(of.bound_ns), (of) => known(of.bound_ns),
    "bound of the analysis of the system file"],
  ["late", "LIMIT%", "cell", (of) => (partOf(of) < 0 ? "-" : `${(partOf(of) * 100).toFixed(0)}%`), partOf,
    "the longest response of the interval, as a part of its deadline or bound, whichever is shorter"],
  ["queue", "QUEUE", "cell more", (of) => (of.queue ? `${of.queue.fill}/${of.queue.depth}` : "-"),
    (of) => (of.queue ? of.queue.max / Math.max(1, of.queue.depth) : -1),
    "messages in its queue, and the number that it holds"],
  ["lost", "LOST", "cell least", (of) => ifAny(of.lost_total), (of) => of.lost_total, "items lost since it is watched"],
  ["miss", "MISS", "cell", (of) => ifAny(of.missed_total), (of) => of.missed_total,
    "deadlines missed since it is watched"],
];

// Returns true if the column has something to show.
function hasColumn(key) {
  if (key === "bound") return view.state?.has_bounds;
  return key !== "program" || (view.state?.programs.length ?? 0) > 1;
}

// Returns the callbacks that the filter lets through, in order.
function shownRows() {
  const textsOf = (of) => [of.name, of.executor, of.group, of.program.name, ...of.hears.map((queue) => queue.topic)];
  const rows = view.rows.filter((of) => passes(...textsOf(of)));
  const column = COLUMNS.find(([key]) => key === view.sort);
  const number = column[4];
  const byName = (one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : one.id < other.id ? -1 : 1);
  const order = number
    ? (one, other) => number(other) - number(one)
    : (one, other) => (column[3](one) < column[3](other) ? -1 : column[3](one) > column[3](other) ? 1 : 0);
  const sign = view.isReversed ? -1 : 1;
  return rows.sort((one, other) => sign * order(one, other) || byName(one, other));
}
