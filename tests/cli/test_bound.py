"""``eigenstream research bound``: the question asked each way round, and its errors."""

import pytest

from eigenstream.cli import app

SLOW = ["research", "bound", "slow", "--d", "10", "--mixing", "geometric:1,0.99"]
PAIRS = ["research", "bound", "pairs", "--d", "10", "--margin", "0.1"]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        app(list(arguments))
    output = capsys.readouterr()
    return end.value.code, output.out, output.err


def test_profiles_are_compared_and_drawn(capsys, tmp_path):
    picture = tmp_path / "bound.svg"
    more = ["--mixing", "finite:10", "--m", "1000000", "--picture", str(picture)]
    code, out, _ = run(capsys, *SLOW, *more)
    assert code == 0
    assert [line.split(": ")[0].strip() for line in out.splitlines()[1:]] == [
        "geometric:1,0.99",
        "finite:10",
    ]
    drawn = picture.read_text(encoding="utf-8")
    assert "<svg" in drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SLOW, "Pass --m (how far off?), --precision (how much data?) or both"),
        (
            [*SLOW, "--m", "9", "--precision", "1", "--delta", "0.1"],
            "--m and --precision together ask for delta",
        ),
        (
            ["research", "bound", "slow", "--d", "10", "--m", "9", "--mixing", "geometric:1"],
            "geometric:c,rho",
        ),
        (["research", "bound", "slow", "--d", "10", "--m", "9"], "'--mixing'"),
        ([*SLOW, "--m", "many"], "'--m'"),
        ([*SLOW, "--m", "100"], "or more rows"),
        ([*SLOW, "--m", "100", "--delta", "2"], "delta must be a number in (0, 1)"),
        ([*SLOW, "--m", "10000000", "--picture", "no/such/folder/x.png"], "no/such/folder"),
        ([*PAIRS[:5], "--margin", "1.5", "--m", "9"], "margin must be a number in (0, 1), got 1.5"),
        ([*PAIRS, "--m", "9", "--risk", "-1"], "empirical_risk must be a number in [0, 1]"),
        ([*SLOW, "--m", "10000000", "--picture", "x.xyz"], "No figure of kind 'xyz'"),
        (["research", "bound"], "bound --help"),
        (["research", "bound", "fast"], "fast"),
    ],
)
def test_refusals_are_one_line_and_exit_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert list(tmp_path.iterdir()) == []
    assert message in err
    assert len(err.strip().splitlines()) == 1
