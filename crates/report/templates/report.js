(() => {
  "use strict";
  const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50 };
  const TIMES = { ns: 1, "µs": 1e3, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, d: 86400e9 };
  const THOUSANDS = { k: 1e3, M: 1e6, G: 1e9 };

  // What a cell is worth: the number that it begins with, in the unit that stands behind it; words are worth nothing.
  const worth = (text) => {
    const found = /^[-–]?[\d.\u202f]+/.exec(text);
    if (!found) return NaN;
    const unit = text.slice(found[0].length).trim().split(/[\s–(]/)[0];
    const number = parseFloat(found[0].replace("–", "-").replace(/\u202f/g, ""));
    return number * (SIZES[unit] || TIMES[unit] || THOUSANDS[unit] || 1);
  };

  const compare = (a, b) => {
    const [x, y] = [worth(a), worth(b)];
    if (isNaN(x) && isNaN(y)) return a.localeCompare(b);
    if (isNaN(x)) return 1;
    return isNaN(y) ? -1 : x - y;
  };

  const sort = (head, column) => {
    const falls = head.getAttribute("aria-sort") === "ascending";
    const body = head.closest("table").tBodies[0];
    const text = (row) => row.cells[column].textContent.trim();
    const rows = [...body.rows].sort((a, b) => (falls ? -1 : 1) * compare(text(a), text(b)));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    body.append(...rows);
  };

  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort by this column";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head, column));
      head.append(button);
    });
  }

  const digits = (value) => {
    const size = Math.abs(value);
    return value.toFixed(size >= 99.95 || value === Math.round(value) ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 4);
  };
  const scaled = (value, units) => {
    const fits = Object.entries(units).filter(([, factor]) => Math.abs(value) >= factor);
    const [unit, factor] = fits.length ? fits[fits.length - 1] : Object.entries(units)[0];
    return digits(value / factor) + " " + unit;
  };
  const told = (axis, value) => {
    if (axis.c.length) return axis.c[Math.max(0, Math.min(axis.c.length - 1, Math.round(value)))];
    if (axis.u === "bytes") return scaled(value, SIZES);
    if (axis.u === "ns") return scaled(value, { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 });
    if (Math.abs(value) >= 1e4) return scaled(value, THOUSANDS) + (axis.u && " " + axis.u);
    return digits(value) + (axis.u && " " + axis.u);
  };

  // From 0 to 1 along an axis, and back.
  const share = (axis, value) => {
    if (!axis.log) return (value - axis.from) / (axis.to - axis.from);
    return Math.log(value / axis.from) / Math.log(axis.to / axis.from);
  };
  const value = (axis, at) =>
    axis.log ? axis.from * (axis.to / axis.from) ** at : axis.from + at * (axis.to - axis.from);

  // All values of a chart with their places in the picture, from left to right.
  const places = (plot) => {
    const [left, top, right, bottom] = plot.box;
    const found = [];
    for (const layer of plot.d) {
      const axis = layer.r ? plot.r : plot.y;
      for (let at = 0; at < layer.p.length; at += 2) {
        const [x, y] = [layer.p[at], layer.p[at + 1]];
        const [u, v] = [share(plot.x, x), share(axis, y)];
        if (!(u >= 0 && u <= 1)) continue;
        const up = (share) => bottom - Math.min(1, Math.max(0, share)) * (bottom - top);
        const height = up(v);
        const name = layer.n ? layer.n + ": " : "";
        const ends = layer.i[at / 2];
        const interval = ends ? ` (${told(axis, ends[0])} to ${told(axis, ends[1])})` : "";
        const words = `${name}${plot.x.l} ${told(plot.x, x)}, ${axis.l} ${told(axis, y)}${interval}`;
        const bar = ends ? ends.map((end) => up(share(axis, end))) : [height, height];
        found.push({ x: left + u * (right - left), y: height, bar, words });
      }
    }
    return found.sort((a, b) => a.x - b.x || a.y - b.y);
  };

  const RING = "http://www.w3.org/2000/svg";
  const STEP = 1.4;

  const serve = (svg) => {
    const plot = JSON.parse(svg.dataset.plot);
    const whole = svg.getAttribute("viewBox").split(" ").map(Number);
    const values = places(plot);
    let view = [...whole];
    let chosen = -1;
    const tools = document.createElement("div");
    tools.className = "tools " + svg.getAttribute("class");
    const output = document.createElement("output");
    const pointed = (name) => {
      const made = document.createElementNS(RING, name);
      made.setAttribute("fill", "none");
      made.setAttribute("stroke", "currentColor");
      made.setAttribute("stroke-width", 2);
      made.style.display = "none";
      svg.append(made);
      return made;
    };
    const [ring, bar] = [pointed("circle"), pointed("line")];
    ring.setAttribute("r", 7);

    const show = (words, place) => {
      output.textContent = words;
      for (const made of [ring, bar]) made.style.display = place ? "" : "none";
      if (!place) return;
      bar.setAttribute("x1", place.x);
      bar.setAttribute("x2", place.x);
      bar.setAttribute("y1", place.bar[0]);
      bar.setAttribute("y2", place.bar[1]);
      ring.setAttribute("cx", place.x);
      ring.setAttribute("cy", place.y);
    };
    const look = (x, y, width, height) => {
      view = [
        Math.min(Math.max(x, 0), whole[2] - width),
        Math.min(Math.max(y, 0), whole[3] - height),
        width,
        height,
      ];
      svg.setAttribute("viewBox", view.map((number) => Math.round(number * 100) / 100).join(" "));
    };
    const zoom = (factor, x = view[0] + view[2] / 2, y = view[1] + view[3] / 2) => {
      const size = Math.min(1, Math.max(1 / 32, (view[2] / whole[2]) * factor));
      const ratio = (size * whole[2]) / view[2];
      look(x - (x - view[0]) * ratio, y - (y - view[1]) * ratio, size * whole[2], size * whole[3]);
    };
    const move = (right, down) =>
      look(view[0] + right * view[2], view[1] + down * view[3], view[2], view[3]);
    const step = (by) => {
      if (!values.length) return;
      chosen = Math.min(values.length - 1, Math.max(0, chosen + by));
      show(values[chosen].words, values[chosen]);
    };
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const x = view[0] + ((event.clientX - box.left) / box.width) * view[2];
      return [x, view[1] + ((event.clientY - box.top) / box.height) * view[3]];
    };

    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      made.title = label;
      made.addEventListener("click", act);
      tools.append(made);
    };
    button("+", "Zoom in", () => zoom(1 / STEP));
    button("−", "Zoom out", () => zoom(STEP));
    button("1:1", "Whole chart", () => zoom(Infinity));
    if (values.length) {
      button("‹", "Value before", () => step(-1));
      button("›", "Next value", () => step(1));
    }
    output.setAttribute("aria-live", "polite");
    tools.append(output);
    svg.after(tools);
    svg.setAttribute("tabindex", "0");

    const KEYS = {
      "+": () => zoom(1 / STEP),
      "-": () => zoom(STEP),
      0: () => zoom(Infinity),
      Escape: () => zoom(Infinity),
      ArrowLeft: () => (view[2] < whole[2] ? move(-0.1, 0) : step(-1)),
      ArrowRight: () => (view[2] < whole[2] ? move(0.1, 0) : step(1)),
      ArrowUp: () => view[2] < whole[2] && move(0, -0.1),
      ArrowDown: () => view[2] < whole[2] && move(0, 0.1),
    };
    svg.addEventListener("keydown", (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
      if (act() !== false) event.preventDefault();
    });
    // The wheel is the page's own until the chart was chosen, or Ctrl says that it is meant.
    svg.addEventListener(
      "wheel",
      (event) => {
        if (document.activeElement !== svg && !event.ctrlKey) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1 / STEP : STEP, ...at(event));
      },
      { passive: false },
    );
    svg.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      if (event.buttons === 1 && view[2] < whole[2]) {
        const box = svg.getBoundingClientRect();
        move(-event.movementX / box.width, -event.movementY / box.height);
        return;
      }
      const [left, top, right, bottom] = plot.box;
      if (x < left || x > right || y < top || y > bottom) return show("", null);
      const far = (place) => (place.x - x) ** 2 + (place.y - y) ** 2;
      const nearest = values.reduce((best, place) => (!best || far(place) < far(best) ? place : best), null);
      if (nearest) return show(nearest.words, nearest);
      const across = value(plot.x, (x - left) / (right - left));
      const up = value(plot.y, (bottom - y) / (bottom - top));
      show(`at ${plot.x.l} ${told(plot.x, across)}, ${plot.y.l} ${told(plot.y, up)}`, null);
    });
    svg.addEventListener("pointerleave", () => show("", null));
  };
  document.querySelectorAll("svg[data-plot]").forEach(serve);

  for (const data of document.querySelectorAll("pre[data-file]")) {
    const link = document.createElement("a");
    link.textContent = "Save as " + data.dataset.file;
    link.download = data.dataset.file;
    link.href = URL.createObjectURL(new Blob([data.textContent]));
    data.before(link);
  }
})();
