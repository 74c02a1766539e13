// A self-organising map of points in a plane, drawn while it learns. Needs orders.js and explorer.js.

// One step for a row: units move by rate * h * (row - unit), where h is the neighbourhood of the
// nearest unit on the grid, exp(-d^2 / (2 radius^2)).
function mapStep(units, side, row, rate, radius) {
  let nearest = 0, least = Infinity;
  units.forEach(([x, y], k) => {
    const d = (x - row[0]) ** 2 + (y - row[1]) ** 2;
    if (d < least) [nearest, least] = [k, d];
  });
  const line = Math.floor(nearest / side), column = nearest % side;
  units.forEach((unit, k) => {
    const d = (Math.floor(k / side) - line) ** 2 + ((k % side) - column) ** 2;
    const h = rate * Math.exp(-d / (2 * radius * radius));
    unit[0] += h * (row[0] - unit[0]);
    unit[1] += h * (row[1] - unit[1]);
  });
}

// A row of each shape, in a square from -1 to 1.
const SHAPES = {
  square: (draw) => [2 * draw() - 1, 2 * draw() - 1],
  ring: (draw) => {
    const angle = 2 * Math.PI * draw(), radius = 0.6 + 0.4 * draw();
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  },
  cross: (draw) => {
    const [along, across] = [2 * draw() - 1, 0.4 * draw() - 0.2];
    return draw() < 0.5 ? [along, across] : [across, along];
  },
};

// The share of rows whose two nearest units are not neighbours on the grid.
function folds(units, side, rows) {
  const broken = rows.filter((row) => {
    const d = units.map(([x, y]) => (x - row[0]) ** 2 + (y - row[1]) ** 2);
    const first = d.indexOf(Math.min(...d));
    d[first] = Infinity;
    const second = d.indexOf(Math.min(...d));
    const lines = Math.abs(Math.floor(first / side) - Math.floor(second / side));
    return lines + Math.abs((first % side) - (second % side)) > 1;
  });
  return broken.length / rows.length;
}

function unfold(form) {
  const svg = form.querySelector(".net"), inputs = [...form.querySelectorAll("input")];
  const at = (v) => (210 + 195 * v).toFixed(1);
  let seed = 1, running = 0;

  function draw() {
    const values = Object.fromEntries(inputs.map((input) => {
      input.previousElementSibling.textContent = input.value;
      return [input.name, Number(input.value)];
    }));
    const { side, steps, first, last } = values, token = ++running;
    const random = generator(seed).uniform, row = () => SHAPES[form.elements.shape.value](random);
    const units = [...Array(side * side)].map(() => [2 * random() - 1, 2 * random() - 1]);
    const rows = [...Array(400)].map(row);
    let step = 0;
    delete form.dataset.ready;
    svg.replaceChildren(...rows.map(([x, y]) =>
      element("circle", { cx: at(x), cy: at(y), r: 1.5, class: "row" })));
    const net = element("path", { class: "links" });
    svg.append(net);

    (function go() {
      if (token !== running) return;
      for (const goal = Math.min(steps, step + Math.ceil(steps / 200)); step < goal; step++) {
        const share = step / steps;
        mapStep(units, side, row(), 0.5 * 0.04 ** share, first * (last / first) ** share);
      }
      const lines = [...Array(side).keys()].flatMap((k) => [
        units.slice(k * side, (k + 1) * side), units.filter((_, i) => i % side === k)]);
      net.setAttribute("d", lines.map((line) =>
        "M" + line.map(([x, y]) => `${at(x)} ${at(y)}`).join("L")).join(""));
      form.querySelector(".facts-line").textContent =
        `Step ${step}. The topographic error is ${folds(units, side, rows).toFixed(3)}.`;
      if (step < steps) requestAnimationFrame(go);
      else form.dataset.ready = String(token);
    })();
  }

  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("button").addEventListener("click", () => { seed += 1; draw(); });
  draw();
}

document.querySelectorAll("form.unfolding").forEach(unfold);
