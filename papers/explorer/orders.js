// The equations of motion and the exact chains of eigenstream.theory.dynamics, for two students in
// a browser. A test holds them to the Python solutions. Nothing here touches a page.

// erf(x) = 2 / sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!!: every term has the sign of x.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

// ---- two prototypes, two equal clusters: R+, Q+ in closed form, R- and Q- by Runge-Kutta ----------

// dR-/dalpha and dQ-/dalpha ([DYN] eq. 2.16).
function pairDrift(b, eta, minus) {
  const q = Math.sqrt(Math.max(minus[1], 1e-300));
  const rho = (b * minus[0]) / (2 * q);
  const won = erf(rho), tie = Math.exp(-rho * rho) / Math.sqrt(Math.PI);
  return [
    (eta / 2) * (b * won + ((2 * minus[0]) / q) * tie - minus[0]),
    eta * (2 * q * tie + b * minus[0] * won - minus[1] + eta / 2),
  ];
}

function pairFacts(b, eta) {
  const s = Math.sqrt(1 + (Math.PI * eta) / 2);
  return {
    critical: (2 / Math.PI) * (b ** 4 + 2 * b * b),
    best: (b * b * (b * b + 4)) / (2 * Math.PI),
    growth: ((s - 1) * (b * b + 1 - s)) / Math.PI,
  };
}

// The separation b at and below which prototypes stay together at this rate.
function criticalSeparation(eta) {
  return Math.sqrt(Math.sqrt(1 + (Math.PI * eta) / 2) - 1);
}

// Coefficients of Dormand and Prince: stages, and fifth order less fourth.
const STAGES = [
  [],
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const ERRORS = [
  71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40,
];

// States of an autonomous system at the given times. The error is relative to each variable: a
// plateau ends by a variable that starts from next to nothing.
function integrate(speed, start, times, relative = 1e-9, absolute = 1e-18) {
  let state = start.slice(), now = 0, h = 1e-3;
  return times.map((end) => {
    while (now < end) {
      const step = Math.min(h, end - now), slopes = [];
      let trial = state;
      for (const weights of STAGES) {
        trial = state.map((value, i) =>
          weights.reduce((sum, weight, k) => sum + step * weight * slopes[k][i], value));
        slopes.push(speed(trial));
      }
      let worst = 0;
      state.forEach((value, i) => {
        const error = step * ERRORS.reduce((sum, weight, k) => sum + weight * slopes[k][i], 0);
        const size = Math.max(Math.abs(value), Math.abs(trial[i]));
        worst = Math.max(worst, Math.abs(error) / (absolute + relative * size));
      });
      if (!(worst <= 1)) {
        h = step * Math.max(0.1, 0.9 * worst ** -0.2 || 0.1);
        if (h < 1e-14) throw new Error("the equations cannot be integrated: use a smaller rate");
        continue;
      }
      state = trial;
      now = end - now <= step ? end : now + step;
      h = Math.max(h, step * Math.min(5, 0.9 * Math.max(worst, 1e-10) ** -0.2));
      if (worst > 0.5) h = step * 0.9;
    }
    return state.slice();
  });
}

// R, S, Q and C at the given times; start is {Rplus, Rminus, Qplus, Qminus}.
function pairCourse({ b, eta, start, times }) {
  const A = start.Rplus - b;
  const B = -eta / 2 + b * b + start.Qplus - 2 * b * start.Rplus;
  const minus = integrate((m) => pairDrift(b, eta, m), [start.Rminus, start.Qminus], times);
  return times.map((alpha, i) => {
    const fall = Math.exp((-eta / 2) * alpha);
    const Rplus = b + A * fall;
    const Qplus = eta / 2 + b * b + 2 * b * A * fall + B * fall * fall;
    return {
      R: (Rplus + minus[i][0]) / 2, S: (Rplus - minus[i][0]) / 2,
      Q: (Qplus + minus[i][1]) / 2, C: (Qplus - minus[i][1]) / 2,
    };
  });
}

// ---- units of Sanger's rule with length 1: Lawson's method ----------------------------------------

function unitFacts(strengths, eta) {
  const beta = strengths.map((b) => b * (b + 2)), L = beta.map((one) => 1 + one);
  const gamma2 = eta * (beta[1] - eta / 2);
  const stable = eta < 2 * beta[1] && beta[0] > beta[1] &&
    ((L[0] * eta) / (2 + eta) - beta[1]) * eta * (L[0] + L[1]) <
      eta * (1 + eta) * (beta[0] - beta[1]);
  return { critical: 2 * beta[1], gamma: eta * (beta[0] + beta[1]) - eta * eta, gamma2, stable };
}

// dR/dalpha and dQ/dalpha without the growth beta_j eta R_lj, which the integrating factor has.
function bentDrift(R, Q, beta, eta) {
  const M = R.length, m = beta.length, every = [...Array(M).keys()];
  const C = every.map((i) => every.map((k) =>
    beta.reduce((sum, one, j) => sum + one * R[i][j] * R[k][j], Q[i][k])));
  const U = C.map((row, i) => row.map((value, k) => (k <= i ? value : 0)));
  const G = C.map((row, i) => row.map((value, k) =>
    every.reduce((sum, j) => sum - U[i][j] * Q[j][k], value)));
  const shrink = every.map((i) => eta * G[i][i] + 0.5 * eta * eta * C[i][i]);
  const dR = every.map((i) => beta.map((_, j) =>
    eta * every.reduce((sum, k) => sum - U[i][k] * R[k][j], R[i][j]) - shrink[i] * R[i][j]));
  const dQ = every.map((i) => every.map((k) => i === k ? 0 :
    eta * (G[i][k] + G[k][i] + eta * C[i][k]) - (shrink[i] + shrink[k]) * Q[i][k]));
  return { R: dR, Q: dQ };
}

// (start + h slope), R times what it grows by: a stage of the integrator.
function moved(start, slope, h, grown) {
  return {
    R: start.R.map((row, i) => row.map((value, j) => (value + h * slope.R[i][j]) * grown[j])),
    Q: start.Q.map((row, i) => row.map((value, k) => value + h * slope.Q[i][k])),
  };
}

// {R, Q} at the given times. Linear dependence of the rows of R survives to rounding, and with it
// the plateaus that live on it.
function unitCourse({ strengths, eta, R, Q, times }) {
  const beta = strengths.map((b) => b * (b + 2)), still = beta.map(() => 1);
  const most = 0.05 / (eta * (1 + eta / 2) * (1 + beta[0]));
  let state = { R: R.map((row) => row.slice()), Q: Q.map((row) => row.slice()) }, now = 0;
  const speed = (at) => bentDrift(at.R, at.Q, beta, eta);
  return times.map((end) => {
    const steps = Math.ceil((end - now) / most);
    for (let step = 0; step < steps; step++) {
      const h = (end - now) / steps, grown = beta.map((one) => Math.exp((eta * one * h) / 2));
      let slope = speed(state);
      const half = moved(state, slope, 0, grown);
      let sums = moved(state, slope, h / 6, grown);
      slope = speed(moved(state, slope, h / 2, grown));
      sums = moved(sums, slope, h / 3, still);
      slope = speed(moved(half, slope, h / 2, still));
      sums = moved(sums, slope, h / 3, grown);
      const last = speed(moved(half, slope, h, grown));
      state = moved(sums, last, h / 6, still);
    }
    now = end;
    return { R: state.R.map((row) => row.slice()), Q: state.Q.map((row) => row.slice()) };
  });
}

// ---- finite N: the exact chains ------------------------------------------------------------------

// Uniform, normal and chi-square numbers from a seed (sfc32; Marsaglia's polar method; Marsaglia
// and Tsang).
function generator(seed) {
  let a = 0x9e3779b9, b = 0x243f6a88, c = seed >>> 0, d = 1, spare = null;
  const uniform = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 15; i++) uniform();
  const normal = () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    for (;;) {
      const x = 2 * uniform() - 1, y = 2 * uniform() - 1, s = x * x + y * y;
      if (s > 0 && s < 1) {
        const factor = Math.sqrt((-2 * Math.log(s)) / s);
        spare = y * factor;
        return x * factor;
      }
    }
  };
  const chiSquare = (degrees) => {  // twice a gamma variable; for at least two degrees
    const d3 = degrees / 2 - 1 / 3, c3 = 1 / Math.sqrt(9 * d3);
    for (;;) {
      const x = normal(), v = (1 + c3 * x) ** 3;
      if (v > 0 && Math.log(uniform()) < 0.5 * x * x + d3 - d3 * v + d3 * Math.log(v)) {
        return 2 * d3 * v;
      }
    }
  };
  return { uniform, normal, chiSquare };
}

// The projections of an example on two students, given those on the directions: x, and the squared
// norm of what was drawn.
function projected(R, Q, y, draw) {
  const rest = (i, k) => Q[i][k] - R[i][0] * R[k][0] - R[i][1] * R[k][1];
  const a0 = draw.normal(), a1 = draw.normal();
  const first = Math.sqrt(Math.max(rest(0, 0), 0));
  const cross = first > 0 ? rest(0, 1) / first : 0;
  const second = Math.sqrt(Math.max(rest(1, 1) - cross * cross, 0));
  return [
    R[0][0] * y[0] + R[0][1] * y[1] + first * a0,
    R[1][0] * y[0] + R[1][1] * y[1] + cross * a0 + second * a1,
    a0 * a0 + a1 * a1,
  ];
}

// One step of two prototypes, in place; f = eta / N, N at least 6.
function pairStep(R, Q, { b, eta, N }, draw) {
  const cluster = draw.uniform() < 0.5 ? 0 : 1, f = eta / N;
  const y = [draw.normal(), draw.normal()];
  y[cluster] += b;
  const [x0, x1, norm] = projected(R, Q, y, draw), x = [x0, x1];
  const square = y[0] * y[0] + y[1] * y[1] + norm + draw.chiSquare(N - 4);
  const k = x0 - Q[0][0] / 2 >= x1 - Q[1][1] / 2 ? 0 : 1, j = 1 - k;
  R[k][0] += f * (y[0] - R[k][0]);
  R[k][1] += f * (y[1] - R[k][1]);
  Q[k][j] += f * (x[j] - Q[k][j]);
  Q[j][k] = Q[k][j];
  Q[k][k] += 2 * f * (x[k] - Q[k][k]) + f * f * (square - 2 * x[k] + Q[k][k]);
}

// One step of two units of Sanger's rule, in place.
function unitStep(R, Q, { strengths, eta, N }, draw) {
  const y = strengths.map((b) => (1 + b) * draw.normal());
  const [x0, x1, norm] = projected(R, Q, y, draw);
  const square = y[0] * y[0] + y[1] * y[1] + norm + draw.chiSquare(N - 4);
  const t0 = (eta * x0) / N, t1 = (eta * x1) / N;
  // J' = T J + t xi with T = [[1 - t0 x0, 0], [-t1 x0, 1 - t1 x1]]
  const T00 = 1 - t0 * x0, T10 = -t1 * x0, T11 = 1 - t1 * x1;
  const u0 = T00 * x0, u1 = T10 * x0 + T11 * x1;  // T x
  const q00 = T00 * T00 * Q[0][0] + 2 * u0 * t0 + t0 * t0 * square;
  const q01 = T00 * (T10 * Q[0][0] + T11 * Q[0][1]) + u0 * t1 + t0 * u1 + t0 * t1 * square;
  const q11 = T10 * T10 * Q[0][0] + 2 * T10 * T11 * Q[0][1] + T11 * T11 * Q[1][1] +
    2 * u1 * t1 + t1 * t1 * square;
  const n0 = 1 / Math.sqrt(q00), n1 = 1 / Math.sqrt(q11);
  for (let j = 0; j < 2; j++) {
    const old = R[0][j];
    R[0][j] = n0 * (T00 * old + t0 * y[j]);
    R[1][j] = n1 * (T10 * old + T11 * R[1][j] + t1 * y[j]);
  }
  Q[0][0] = Q[1][1] = 1;
  Q[0][1] = Q[1][0] = q01 * n0 * n1;
}
