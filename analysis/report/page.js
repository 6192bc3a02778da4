"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (selector, within = document) => within.querySelector(selector);
  document.documentElement.classList.add("script");

  // --- packed data: unpacked once, when they are first shown ------------------------------------

  const unpacked = new Map();
  const ready = new Map(); // texts whose unpacking has ended

  async function inflate(key) {
    const text = document.getElementById(`packed-${key}`).textContent;
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function unpack(key) {
    if (!unpacked.has(key)) {
      unpacked.set(key, inflate(key).then((text) => {
        ready.set(key, text);
        return text;
      }));
    }
    return unpacked.get(key);
  }

  // --- colors and sizes: figures take them from the style sheet ---------------------------------

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const colors = (onPaper) =>
    dark.matches && !onPaper
      ? { ink: "#c4c4c1", label: "#2a2a2d", rule: "#55555a" }
      : { ink: "#444444", label: "#ffffff", rule: "#bbbbbb" };

  // The contrast of lines and marks to the page is at least 3 (WCAG 2.2, 1.4.11). A lighter colour
  // remains lighter than a darker one, so that the tints of a hue stay different.

  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const encoded = (part) => (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055);
  const FAINT = { night: [0.3, 0.125], day: [0.2, 0.295] }; // luminances: kept from, and the limit
  const shades = { night: new Map(), day: new Map() };

  function readable(color, time) {
    if (!/^#[0-9a-f]{6}$/i.test(color)) return color;
    if (!shades[time].has(color)) {
      const parts = [1, 3, 5].map((at) => linear(parseInt(color.slice(at, at + 2), 16) / 255));
      const luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      const [kept, limit] = FAINT[time];
      let change = (part) => part;
      if (time === "night" && luminance < kept) {
        const wanted = limit + luminance * (1 - limit / kept);
        const white = (wanted - luminance) / (1 - luminance);
        change = (part) => part + (1 - part) * white;
      } else if (time === "day" && luminance > kept) {
        const wanted = kept + ((luminance - kept) * (limit - kept)) / (1 - kept);
        change = (part) => (part * wanted) / luminance;
      }
      const bytes = parts.map((part) => Math.round(255 * encoded(change(part))));
      shades[time].set(color, "#" + bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(""));
    }
    return shades[time].get(color);
  }

  function inked(value, time, name = "") {
    if (/color$/.test(name)) {
      return Array.isArray(value) ? value.map((each) => inked(each, time, name))
        : typeof value === "string" ? readable(value, time) : value;
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const parts = Object.entries(value).map(([key, each]) => [key, inked(each, time, key)]);
    return Object.fromEntries(parts);
  }

  const visible = (traces, onPaper) =>
    traces.map((trace) => inked(trace, dark.matches && !onPaper ? "night" : "day"));

  const NARROW = 480; // pixels; below, each entry of a legend has a line of its own

  function roomy(layout, traces) {
    if (innerWidth > NARROW || !layout.showlegend || !layout.height) return layout;
    const entries = traces.filter((trace) => trace.name && trace.showlegend !== false).length;
    return { ...layout, height: layout.height + 18 * Math.max(0, entries - 3) };
  }

  function themed(layout, onPaper = false) {
    const { ink, label, rule } = colors(onPaper);
    const axes = {};
    for (const key of Object.keys(layout)) {
      const axis = layout[key];
      if (!/^yaxis/.test(key) || !axis.ticktext || innerWidth > NARROW) continue;
      const short = (text) => (text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-7)}` : text);
      axes[key] = { ...axis, ticktext: axis.ticktext.map(short) };
    }
    return {
      ...layout,
      ...axes,
      autosize: true,
      dragmode: coarse.matches ? false : "zoom",
      font: { color: ink },
      hoverlabel: { bgcolor: label, bordercolor: rule, font: { color: ink } },
    };
  }

  const drawn = new Map(); // plot element -> the figure that it shows, before theming
  const config = { displayModeBar: false, responsive: true };

  function draw(plot, traces, layout) {
    layout = roomy(layout, traces);
    drawn.set(plot, { traces, layout });
    return Plotly.react(plot, visible(traces), themed(layout), config);
  }

  function redraw(onPaper, width) {
    for (const [plot, { traces, layout }] of drawn) {
      const size = width ? { width, autosize: false } : {};
      Plotly.react(plot, visible(traces, onPaper), { ...themed(layout, onPaper), ...size }, config);
    }
  }

  dark.addEventListener("change", () => redraw(false));
  addEventListener("beforeprint", () => {
    drawReady();
    redraw(true, 680);
  });
  addEventListener("afterprint", () => redraw(false));

  // --- saving -----------------------------------------------------------------------------------

  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function svg(plot) {
    await show(plot);
    const { traces, layout } = drawn.get(plot);
    const size = { width: plot.clientWidth, height: plot.clientHeight };
    const figure = { data: visible(traces, true), layout: { ...themed(layout, true), ...size }, config };
    const url = await Plotly.toImage(figure, { format: "svg", ...size });
    return decodeURIComponent(url.slice(url.indexOf(",") + 1));
  }

  function buttons(after, entries) {
    const row = document.createElement("p");
    row.className = "buttons";
    for (const [text, label, action] of entries) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", action);
      row.append(button);
    }
    after.after(row);
  }

  function cells(csv) {
    const rows = [[]];
    for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
      rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
      if (end === "\r\n") rows.push([]);
    }
    return rows.filter((row) => row.some((cell) => cell !== ""));
  }

  const MOST_VALUES = 1000; // rows of a table of values

  function values(csv) {
    const [head, ...rows] = cells(csv);
    const table = document.createElement("table");
    const line = (row, kind) => {
      const tr = document.createElement("tr");
      for (const text of row) {
        const cell = document.createElement(kind);
        cell.textContent = text;
        if (kind === "th") cell.scope = "col";
        tr.append(cell);
      }
      return tr;
    };
    table.createTHead().append(line(head, "th"));
    table.createTBody().append(...rows.slice(0, MOST_VALUES).map((row) => line(row, "td")));
    return table;
  }

  function saveButtons(id, csv) {
    const plot = find(`[data-figure="${id}"] .plot`);
    buttons(plot, [
      ["CSV", `Save the data of this figure as CSV`, async () => save(`${id}.csv`, "text/csv", await csv())],
      ["SVG", `Save this figure as SVG`, async () => save(`${id}.svg`, "image/svg+xml", await svg(plot))],
    ]);
    const details = document.createElement("details");
    details.append(Object.assign(document.createElement("summary"), { textContent: "Values" }));
    const place = Object.assign(document.createElement("div"), { className: "table", tabIndex: 0 });
    details.append(place);
    details.addEventListener("toggle", async () => {
      if (details.open) place.replaceChildren(values(await csv()));
    });
    find(`[data-figure="${id}"]`).append(details);
    return plot;
  }

  // --- figures of whole families: drawn when they come near the window --------------------------

  const waiting = new Map(); // plot element -> key of its data, and a function that draws them

  async function show(plot) {
    if (waiting.has(plot)) await unpack(waiting.get(plot)[0]);
    showReady(plot);
  }

  function showReady(plot) {
    const [key, action] = waiting.get(plot) ?? [];
    if (!ready.has(key)) return;
    waiting.delete(plot);
    near.unobserve(plot);
    action(JSON.parse(ready.get(key)));
  }

  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => show(target)),
    { rootMargin: "600px" },
  );

  function later(plot, key, action) {
    waiting.set(plot, [key, action]);
    near.observe(plot);
  }

  // A print does not wait: the data of all figures are unpacked soon, and drawn when it begins.

  const drawReady = () => [...waiting.keys()].forEach(showReady);

  async function unpackAll() {
    for (const [key] of waiting.values()) await unpack(key);
  }

  addEventListener("load", () => setTimeout(unpackAll, 300));

  for (const id of data.figures) {
    const figure = async () => JSON.parse(await unpack(`figure-${id}`));
    const plot = saveButtons(id, async () => (await figure()).csv);
    later(plot, `figure-${id}`, ({ traces, layout }) => draw(plot, traces, layout));
  }

  // --- one instance -----------------------------------------------------------------------------

  function fill(select, options, chosen) {
    select.replaceChildren(...options.map((text, place) => new Option(text, place)));
    select.value = String(chosen);
  }

  const unescape = (text) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const quote = (value) =>
    /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  const rounded = (value) => Number(value.toPrecision(12));

  function explore() {
    const select = find("#instance");
    const [upper, lower, highlight] = ["#upper", "#lower", "#highlight"].map((id) => find(id));
    const method = find("#progress-method");
    const note = find("#gantt-note");
    let instance = null; // data of the chosen instance
    const chosen = () => instance;
    const pair = () => {
      const both = [upper, lower].map((each) => chosen().schedules[Number(each.value)]);
      return both[0] === both[1] ? both.slice(0, 1) : both;
    };

    const progressPlot = saveButtons("progress", () => chosen().progress.csv);
    const ganttPlot = saveButtons("gantt", () => {
      const rows = [["schedule", "lane", "start", "end", "group", "faint", "text"]];
      for (const { label, lanes, traces } of pair()) {
        for (const t of traces) {
          if (t.type !== "bar") continue; // a line between two bars
          t.x.forEach((length, k) =>
            rows.push([label, lanes[t.y[k]], t.base[k], rounded(t.base[k] + length), t.legendgroup,
              t.marker.opacity < 1, unescape(t.hovertext[k].split("<br>")[0])]));
        }
      }
      return rows.map((row) => row.map(quote).join(",") + "\r\n").join("");
    });

    function drawProgress() {
      const { traces, methods, provers } = chosen().progress;
      const place = Number(method.value);
      const names = place === 0 ? provers : place === 1 ? methods : [methods[place - 2]];
      const shown = traces.filter((trace) => names.includes(trace.legendgroup));
      return draw(progressPlot, shown, data.layouts.progress);
    }

    const panel = find("#replay"), which = find("#replay-which"), step = find("#replay-step");
    const told = find("#replay-text");
    const replayed = () => chosen().schedules[Number(which.value)];

    function offerReplay() {
      const some = pair().filter((each) => each?.steps);
      panel.hidden = some.length === 0;
      which.replaceChildren(...some.map((each) =>
        new Option(each.label, chosen().schedules.indexOf(each))));
      startReplay();
    }

    function startReplay() {
      if (!panel.hidden) {
        step.max = replayed().steps.length;
        step.value = step.max;
      }
      tell();
    }

    function tell() {
      const last = Number(step.max), place = Number(step.value);
      told.textContent = panel.hidden ? "" : place === last
        ? `The schedule after all ${last} steps.`
        : `Step ${place + 1} of ${last}. ${replayed().steps[place]}`;
    }

    function replay(move) {
      step.value = Number(step.value) + move;
      tell();
      drawGantt();
    }

    // opacity of the bars of a group: faint before the step that places it, full at that step
    function shade(schedule, group, opacity) {
      if (panel.hidden || schedule !== replayed() || step.value === step.max) return opacity;
      const behind = Number(step.value) - schedule.placed[group];
      return behind < 0 ? 0.08 : behind === 0 ? 1 : 0.6 * opacity;
    }

    function drawGantt() {
      const schedules = pair();
      note.hidden = schedules.length > 0 && schedules[0] !== undefined;
      ganttPlot.hidden = !note.hidden;
      if (!note.hidden) {
        note.textContent = "No schedule of this instance is embedded in this page.";
        return;
      }
      const group = chosen().groups[Number(highlight.value) - 1];
      const { gap, ...shared } = data.layouts.gantt;
      const total = schedules.reduce((sum, each) => sum + each.height, gap * (schedules.length - 1));
      const end = Math.max(...schedules.map((each) => each.range[1]));
      const start = Math.min(...schedules.map((each) => each.range[0]));
      const { frame, legend } = chosen();
      const layout = { ...shared, height: total + frame, showlegend: legend, annotations: [] };
      const traces = [];
      let top = 1;
      schedules.forEach((each, place) => {
        const axis = place ? "2" : "";
        const bottom = Math.max(0, top - each.height / total);
        for (const trace of each.traces) {
          const faded = group !== undefined && trace.legendgroup !== group;
          traces.push({ ...trace, xaxis: "x" + axis, yaxis: "y" + axis,
            opacity: shade(each, trace.legendgroup, faded ? 0.12 : 1), showlegend: trace.showlegend && !place });
        }
        layout["yaxis" + axis] = { ...each.yaxis, domain: [bottom, top] };
        layout["xaxis" + axis] = { anchor: "y" + axis, range: [start, end],
          title: { text: place === schedules.length - 1 ? each.time : "" },
          ...(place ? { matches: "x" } : {}) };
        layout.annotations.push({ text: each.title, showarrow: false, font: { size: 14 }, x: 0,
          xref: "paper", xanchor: "left", y: top, yref: "paper", yanchor: "bottom", yshift: 4 });
        top = bottom - gap / total;
      });
      const listening = Boolean(ganttPlot.on);
      draw(ganttPlot, traces, layout);
      if (!listening) ganttPlot.on("plotly_click", clicked);
    }

    function clicked({ points }) {
      const place = chosen().groups.indexOf(points[0].data.legendgroup) + 1;
      highlight.value = Number(highlight.value) === place ? 0 : place;
      drawGantt();
    }

    async function choose() {
      const place = select.value;
      const text = await unpack(`instance-${place}`);
      if (select.value !== place) return; // another one has been chosen meanwhile
      present(JSON.parse(text));
    }

    function present(content) {
      instance = content;
      const { progress, schedules, groups, pair: first } = chosen();
      fill(method, ["exact methods and bounds", "all methods", ...progress.methods],
        progress.provers.length ? 0 : 1);
      fill(upper, schedules.map((each) => each.label), first[0]);
      fill(lower, schedules.map((each) => each.label), first[1]);
      fill(highlight, ["all", ...groups], 0);
      drawProgress();
      offerReplay();
      drawGantt();
      select.dataset.shown = select.value;
    }

    fill(select, data.instances, data.first);
    select.addEventListener("change", choose);
    method.addEventListener("change", drawProgress);
    for (const each of [upper, lower]) {
      each.addEventListener("change", () => {
        offerReplay();
        drawGantt();
      });
    }
    highlight.addEventListener("change", drawGantt);
    which.addEventListener("change", () => {
      startReplay();
      drawGantt();
    });
    step.addEventListener("input", () => replay(0));
    find("#replay-back").addEventListener("click", () => replay(-1));
    find("#replay-on").addEventListener("click", () => replay(1));
    later(progressPlot, `instance-${data.first}`, (content) => {
      if (select.value === String(data.first)) present(content); // else another one is coming
    });
  }
  if (data.instances.length) explore();

  // --- links to tables that are folded up -------------------------------------------------------

  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a[href^='#']");
    const place = link && document.getElementById(link.hash.slice(1));
    if (place?.tagName === "DETAILS") place.open = true;
  });

  // --- tables -----------------------------------------------------------------------------------

  function key(cell) {
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim();
    return value === "" ? undefined : Number(value);
  }

  function compare(a, b, sign) {
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined); // last
    return sign * inOrder(a, b);
  }

  function inOrder(a, b) {
    if (typeof a === "number" && typeof b === "number") return a === b ? 0 : a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  const results = find("#every-result");
  let whole = null; // all rows of the results, once they have been asked for

  function complete() {
    whole ??= (async () => {
      if (results.tBodies[0].rows.length < data.rows) {
        results.tBodies[0].insertAdjacentHTML("beforeend", await unpack("more"));
        if (results.classList.contains("cards")) named(results);
        find("#more-note").hidden = true;
      }
    })();
    return whole;
  }

  for (const table of document.querySelectorAll("main > section table, main > section details > .table > table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", async () => {
        if (table === results) await complete();
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[column]), row]);
        rows.sort(([a], [b]) => compare(a, b, up ? 1 : -1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // Columns that do not fit are left out, the less important ones first; all of them are in the
  // cards, one for each row, which also take the place of a table that does not fit at all.

  // Screen readers read the heads, and not the labels that the style sheet repeats in each card.
  // Browsers forget that elements are a table, a row or a cell if the style sheet lays them out
  // in another way, and screen readers then read plain text.

  const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

  function named(table) {
    for (const each of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
      if (each.hasAttribute("role")) continue;
      each.setAttribute("role", ROLES[each.tagName] ?? (each.scope === "col" ? "columnheader" : "rowheader"));
    }
  }

  const label = (head) => head.textContent.replaceAll("\u00a0", " ").trim();

  function fitting(table) {
    const place = table.parentElement;
    const heads = [...table.tHead.rows[0].cells];
    const ranked = heads
      .map((head, column) => [head.dataset.rank, column])
      .filter(([rank]) => rank !== undefined)
      .sort(([a], [b]) => a - b)
      .map(([, column]) => column);
    const style = document.createElement("style");
    const note = Object.assign(document.createElement("p"), { className: "fit", hidden: true });
    const said = document.createElement("span");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    note.append(said, button);
    place.before(style);
    place.after(note);
    const rule = (column, what) => `#${table.id} tr > :nth-child(${column + 1})${what}`;
    const labels = heads
      .map((head, column) => [JSON.stringify(label(head)), column])
      .map(([text, column]) => rule(column, `::before { content: ${text}; content: ${text} / "" }`))
      .slice(1)
      .join("\n");
    let asked = false; // whether the reader has asked for cards
    let width = 0; // of the screen for which it was laid out

    function reset() {
      if (width === innerWidth) return;
      width = 0;
      table.classList.remove("cards");
      style.textContent = "";
      note.hidden = true;
    }

    function measure() {
      if (width === innerWidth || !place.clientWidth) return null;
      const excess = table.offsetWidth - place.clientWidth;
      return { excess, widths: heads.map((head) => head.getBoundingClientRect().width) };
    }

    function apply(size) {
      if (!size) return;
      width = innerWidth;
      let { excess } = size;
      if (excess <= 0) return;
      const out = [];
      for (const column of ranked) {
        if (excess <= 0) break;
        excess -= size.widths[column];
        out.push(column);
      }
      const cards = asked || excess > 0;
      table.classList.toggle("cards", cards);
      if (cards) named(table);
      style.textContent = `@media screen { ${
        cards ? labels : out.map((column) => rule(column, " { display: none }")).join("\n")
      } }`;
      const names = out.map((column) => label(heads[column])).filter(Boolean).join(", ");
      said.textContent = cards ? "" : `Not on this screen: ${names || "the bars"}.`;
      button.textContent = cards ? "Rows as a table" : "Rows as cards, with all columns";
      button.hidden = excess > 0;
      note.hidden = button.hidden && !said.textContent;
    }

    button.addEventListener("click", () => {
      asked = !asked;
      width = 0;
      fit();
    });
    table.closest("details")?.addEventListener("toggle", fit);
    return { reset, measure, apply };
  }

  const fitted = [...document.querySelectorAll(".table > table[id]")].map(fitting);

  function fit() {
    for (const { reset } of fitted) reset();
    const sizes = fitted.map(({ measure }) => measure()); // all at once: one layout of the page
    fitted.forEach(({ apply }, place) => apply(sizes[place]));
  }

  addEventListener("resize", fit);
  fit();

  const filters = ["#filter", "#filter-family", "#filter-kind"].map((id) => find(id));
  const names = [...results.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const [familyColumn, kindColumn] = ["family", "kind"].map((name) => names.indexOf(name));

  async function applyFilters() {
    await complete();
    const [text, family, kind] = filters.map((each) => each.value);
    const words = text.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of results.tBodies[0].rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !(
        words.every((word) => content.includes(word)) &&
        (!family || row.cells[familyColumn].textContent.trim() === family) &&
        (!kind || row.cells[kindColumn].textContent.trim() === kind)
      );
      shown += !row.hidden;
    }
    find("#filter-count").textContent = `${shown} of ${data.rows} results`;
  }

  for (const each of filters) each.addEventListener("input", applyFilters);
  find("#more")?.addEventListener("click", complete);
  buttons(results.parentElement, [
    ["CSV", "Save all results as CSV", async () => save("results.csv", "text/csv", await unpack("results.csv"))],
  ]);
})();
