// The data of the page: the last state that came, the settings, and a past of fixed length for each callback.

const PAST = 120;
const view = {
  state: null, rows: [], byId: new Map(), byName: new Map(), past: new Map(), worst: [],
  filter: "", isPaused: false, hasInternals: false, sort: "late", isReversed: false, selected: null, chain: null,
  tab: "callbacks",
};

const $ = (id) => document.getElementById(id);

// Returns a new element with a class and a text. Names come from programs, so that no text is ever read as HTML.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function three(value) {
  return value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

// Returns a duration as `rospin top` writes it: `9.87us`, `123ms`, `-` for none.
function time(ns) {
  if (ns === undefined || ns === null) return "-";
  if (ns < 999.5) return `${ns.toFixed(0)}ns`;
  if (ns < 999.5e3) return `${three(ns / 1e3)}us`;
  if (ns < 999.5e6) return `${three(ns / 1e6)}ms`;
  return ns < 9999.5e9 ? `${three(ns / 1e9)}s` : ">9999s";
}

function short(number) {
  if (number < 0.005) return "0";
  if (number < 9999.5 && Number.isInteger(number)) return String(number);
  if (number < 999.5) return three(number);
  if (number < 999.5e3) return `${three(number / 1e3)}k`;
  return number < 999.5e6 ? `${three(number / 1e6)}M` : ">999M";
}

function clock(ms) {
  const date = new Date(ms);
  const two = (number) => String(number).padStart(2, "0");
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two);
  return `${parts.join(":")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

// Returns a name that is at most so long. The end of a long one says more than its beginning.
function ending(name, letters) {
  const all = [...name];
  return all.length <= letters ? name : `…${all.slice(all.length - letters + 1).join("")}`;
}

const limitOf = (of) => Math.min(of.deadline_ns ?? Infinity, of.bound_ns ?? Infinity);
const longestOf = (of) => Math.max(of.response?.max_ns ?? 0, of.waiting_ns ?? 0);

// Returns how a callback is: `bad` if it is or was late, `lossy` if it lost something, `idle` if it did not run.
function healthOf(of) {
  const limit = limitOf(of);
  if (of.missed_total || of.isOverdue || Math.max(of.worst_ns ?? 0, of.waiting_ns ?? 0) > limit) return "bad";
  if (of.lost_total) return "lossy";
  return of.rate_hz ? "" : "idle";
}

function passes(...texts) {
  const filter = view.filter.toLowerCase();
  return !filter || texts.some((text) => text && text.toLowerCase().includes(filter));
}

// Takes a state that came from the command.
function take(state) {
  view.state = state;
  view.rows = [];
  view.byId.clear();
  view.byName.clear();
  let worst = { part: 0, name: "", ns: 0, limit: 0, missed: 0 };
  for (const program of state.programs) {
    const overdue = new Set(program.overdue.map((one) => `${one.place}`));
    const topics = new Map();
    for (const queue of program.queues) {
      if (queue.callback === undefined) continue;
      const known = topics.get(queue.callback) ?? [];
      known.push(queue);
      topics.set(queue.callback, known);
    }
    for (const of of program.callbacks) {
      of.program = program;
      of.id = `${program.pid}/${of.place}`;
      of.isOverdue = overdue.has(`${of.place}`);
      of.hears = of.internal ? [] : (topics.get(of.name) ?? []);
      of.sends = [];
      view.byId.set(of.id, of);
      if (!view.byName.has(of.name)) view.byName.set(of.name, of);
      if (of.internal && !view.hasInternals) continue;
      view.rows.push(of);
      const limit = limitOf(of);
      const part = limit === Infinity ? 0 : longestOf(of) / limit;
      worst.missed += of.missed;
      if (part > worst.part) worst = { part, name: of.name, ns: longestOf(of), limit, missed: worst.missed };
    }
    for (const send of program.sends) view.byId.get(`${program.pid}/${send.place}`)?.sends.push(send);
  }
  view.worst.push(worst);
  if (view.worst.length > 2 * PAST) view.worst.shift();
  for (const of of view.rows) {
    let past = view.past.get(of.id);
    if (!past || past.name !== of.name) {
      past = { name: of.name, p99: [], max: [] };
      view.past.set(of.id, past);
    }
    for (const [list, value] of [[past.p99, of.response?.p99_ns], [past.max, longestOf(of)]]) {
      list.push(value ?? 0);
      if (list.length > PAST) list.shift();
    }
  }
  for (const id of view.past.keys()) if (!view.byId.has(id)) view.past.delete(id);
}
