"""``eigenstream advise``: the command gives what the method says, and one line where it fails."""

import pytest

from eigenstream.cli import app
from eigenstream.theory import PrincipalDynamics, SymmetricPair


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        app(list(arguments))
    output = capsys.readouterr()
    return end.value.code, output.out, output.err


PROTOTYPES = ["advise", "prototypes", "--n-features", "1000", "--separation"]
COMPONENTS = ["advise", "components", "--n-features", "1000", "--eta", "0.5", "--eigenvalues"]


def test_the_command_gives_the_method(capsys):
    code, out, err = run(capsys, *PROTOTYPES, str(2.0**0.5), "--eta", "0.5")
    assert (code, err) == (0, "")
    assert out == f"{SymmetricPair(1.0).advise(0.5, n_features=1000)}\n"
    code, out, err = run(capsys, *COMPONENTS, "8,4.5", "--noise", "2")
    assert (code, err) == (0, "")
    model = PrincipalDynamics([1.0, 0.5], eta=1.0)
    assert out == f"{model.advise(n_features=1000)}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PROTOTYPES, "1", "--eta", "0"], "eta must be a number in"),
        ([*PROTOTYPES, "-1", "--eta", "1"], "--separation must be a number in"),
        ([*COMPONENTS, "8,a"], "numbers with commas between"),
        ([*COMPONENTS, "8,1"], "above the noise 1"),
        ([*COMPONENTS, "4,8"], "--eigenvalues must be given largest first"),
        ([*COMPONENTS, "4,4"], "cannot be told apart"),
        ([*COMPONENTS, "4,nan"], "above the noise 1"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code != 0
    assert not out
    assert message in err
    assert len(err.splitlines()) == 1
