// The page's sliders: they solve the equations anew and let one run of the chain catch up with them.

const COLOURS = ["var(--accent)", "#c2571a", "#2d8a4e", "#8a4fa3"];
// Steps of a chain between two looks at the clock, and in all.
const SLICE = 4096, MOST = 2e7;

const MODELS = {
  pair: {
    names: ["R", "S"],
    settings: (form) => ({ ...form, start: {
      Rplus: 0.2 * form.b, Rminus: form.seed, Qplus: 0.3 + form.seed ** 2, Qminus: 0.3 + form.seed ** 2,
    } }),
    end: ({ b, eta, seed }) => {
      const { growth } = pairFacts(b, eta);
      const length = growth > 0 ? Math.max(0, -Math.log(seed)) / growth + 12 / growth : 40 / eta;
      return round(Math.min(Math.max(length, 10 / eta), 2000));
    },
    course: (set, times) => pairCourse({ ...set, times }).map((at) => [at.R, at.S]),
    chain: (set) => {
      const { Rplus, Rminus, Qplus, Qminus } = set.start;
      const R = (Rplus + Rminus) / 2, S = (Rplus - Rminus) / 2;
      const Q = (Qplus + Qminus) / 2, C = (Qplus - Qminus) / 2;
      return { R: [[R, S], [S, R]], Q: [[Q, C], [C, Q]], step: pairStep };
    },
    read: (R) => [(R[0][0] + R[1][1]) / 2, (R[0][1] + R[1][0]) / 2],
    facts: ({ b, eta }) => {
      const { critical, best, growth } = pairFacts(b, eta);
      return growth > 0
        ? `Below the critical rate ${show(critical)}: they part, by a factor e every ` +
          `${show(1 / growth)} on the plateau; fastest at eta = ${show(best)}.`
        : `Above the critical rate ${show(critical)}: they stay together. Lower eta, or part the clusters.`;
    },
  },
  units: {
    names: ["|R₁₁|", "|R₂₂|", "|R₂₁|", "|Q₁₂|"],
    settings: (form) => ({ ...form, strengths: [form.b1, form.b1 * form.share],
      R: [[0.06, 0.06], [0.06, 0.06 + form.seed / 0.06]], Q: [[1, 0], [0, 1]] }),
    end: ({ strengths, eta, seed }) => {
      const { gamma2 } = unitFacts(strengths, eta);
      const length = gamma2 > 0 ? (Math.log(0.06 / seed) + 8) / gamma2 : 40 / eta;
      return round(Math.min(Math.max(length, 10 / eta), 1500));
    },
    course: (set, times) => unitCourse({ ...set, times }).map(({ R, Q }) => MODELS.units.read(R, Q)),
    chain: (set) => ({ R: set.R.map((row) => row.slice()), Q: [[1, 0], [0, 1]], step: unitStep }),
    read: (R, Q) => [R[0][0], R[1][1], R[1][0], Q[0][1]].map(Math.abs),
    facts: ({ strengths, eta }) => {
      const { critical, gamma2, stable } = unitFacts(strengths, eta);
      if (gamma2 <= 0) return `Above the second unit's critical rate ${show(critical)}: it finds nothing.`;
      const line = `Below the second unit's critical rate ${show(critical)}: its plateau is longer by ` +
        `${show(Math.LN10 / gamma2)} for every power of ten in X(0).`;
      return stable ? line : line + " But the aligned state is not stable: the second unit joins the first.";
    },
  },
};

function show(value) {
  return value >= 1000 || (value < 0.01 && value > 0) ? value.toExponential(1) : String(+value.toPrecision(3));
}

// The next number up with one digit, or two below 2: a time axis that does not twitch.
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / power / (value < 2 * power ? 0.2 : 1)) * power * (value < 2 * power ? 0.2 : 1);
}

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Empty axes in an SVG; returns where a point lies on it.
function axes(svg, [left, right], [bottom, top], [across, up]) {
  const W = 420, H = 250, x = (v) => 40 + ((v - left) / (right - left)) * (W - 55);
  const y = (v) => H - 36 - ((v - bottom) / (top - bottom)) * (H - 50);
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.replaceChildren();
  for (let k = 0; k <= 4; k++) {
    const v = left + ((right - left) * k) / 4, w = bottom + ((top - bottom) * k) / 4;
    svg.append(element("text", { x: x(v), y: H - 20, "text-anchor": "middle" }, show(v) || "0"));
    svg.append(element("text", { x: 34, y: y(w) + 4, "text-anchor": "end" }, String(+w.toFixed(2))));
    svg.append(element("line", { x1: x(left), x2: x(right), y1: y(w), y2: y(w), class: "grid" }));
  }
  svg.append(element("text", { x: (W + 40) / 2, y: H - 4, "text-anchor": "middle" }, across));
  svg.append(element("text", { x: 40, y: 10, "text-anchor": "start" }, up));
  return { x, y };
}

function path(at, xs, ys, colour, dashed) {
  const points = xs.map((v, i) => `${at.x(v).toFixed(2)} ${at.y(ys[i]).toFixed(2)}`);
  const line = element("path", { d: "M" + points.join("L"), fill: "none", "stroke-width": dashed ? 1.2 : 2 });
  line.style.stroke = colour;
  if (dashed) line.setAttribute("stroke-dasharray", "2 2");
  return line;
}

function drawPlane(svg, { b, eta }) {
  const at = axes(svg, [0, 10], [0, 2.5], ["eta", "b"]), etas = [...Array(101).keys()].map((k) => k / 10);
  svg.append(path(at, etas, etas.map(criticalSeparation), COLOURS[0]));
  svg.append(element("text", { x: at.x(2), y: at.y(2.1) }, "they part"));
  svg.append(element("text", { x: at.x(6), y: at.y(0.4) }, "they stay together"));
  const here = element("circle", { cx: at.x(eta), cy: at.y(b), r: 5 });
  here.style.fill = COLOURS[1];
  svg.append(here);
}

function explore(form) {
  const model = MODELS[form.dataset.model], inputs = [...form.querySelectorAll("input")];
  const courses = form.querySelector(".courses"), plane = form.querySelector(".plane");
  let seed = 1, running = 0;
  form.querySelector(".keys").replaceChildren(...model.names.flatMap((name, k) => {
    const key = document.createElement("span");
    key.textContent = `— ${name}`;
    key.style.color = COLOURS[k];
    return [key, " "];
  }), "lines: N → ∞; dots: one run at this N");

  // One run of the chain, drawn while it goes on; a newer one ends it.
  function run(set, times, at, token) {
    const { R, Q, step } = model.chain(set), draw = generator(seed), seen = [model.read(R, Q)];
    const stride = times[1] - times[0], rule = { ...set, N: Math.round(set.N) };
    const whole = stride * rule.N, last = Math.min(times.length - 1, Math.floor(MOST / whole));
    let done = 0;
    const lines = [];
    (function go() {
      if (token !== running) return;
      const until = performance.now() + 25;
      while (seen.length <= last && performance.now() < until) {
        const goal = Math.min(Math.round(seen.length * whole), done + SLICE);
        for (; done < goal; done++) step(R, Q, rule, draw);
        if (done >= Math.round(seen.length * whole)) seen.push(model.read(R, Q));
      }
      lines.splice(0).forEach((line) => line.remove());
      model.names.forEach((_, k) => {
        lines.push(path(at, times.slice(0, seen.length), seen.map((one) => one[k]), COLOURS[k], true));
      });
      courses.append(...lines);
      if (seen.length <= last) setTimeout(go);
      else form.dataset.ready = String(token);
    })();
  }

  function draw() {
    const values = Object.fromEntries(inputs.map((input) => {
      const value = "power" in input.dataset ? 10 ** Number(input.value) : Number(input.value);
      input.previousElementSibling.textContent = input.name === "N" ? String(Math.round(value)) : show(value);
      return [input.name, value];
    }));
    const set = model.settings(values), end = model.end(set), token = ++running;
    const times = [...Array(201).keys()].map((k) => (k * end) / 200), found = model.course(set, times);
    const low = Math.min(0, ...found.flat()), top = Math.max(1, ...found.flat());
    const at = axes(courses, [0, end], [low, top * 1.05], ["t = examples / N", "overlap"]);
    model.names.forEach((_, k) => courses.append(path(at, times, found.map((one) => one[k]), COLOURS[k])));
    form.querySelector(".facts-line").textContent = model.facts(set);
    if (plane) drawPlane(plane, set);
    run(set, times, at, token);
  }

  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", () => { seed += 1; draw(); });
  draw();
}

document.querySelectorAll("form.explorer").forEach(explore);
