"""``eigenstream watch``: alarms when data leave the subspace of a model."""

from typing import Annotated

from eigenstream.cli._options import Data, Json, MissingAsFitted, ModelFile, ReadingOptions
from eigenstream.cli._output import Watched, print_json
from eigenstream.cli.transform import feature_model


def watch(
    model: ModelFile,
    data: Data,
    *,
    window: Annotated[int, "Rows of a window."] = 10_000,
    blocks: Annotated[int, "Blocks of a window."] = 20,
    false_alarm_rate: Annotated[float, "Share of windows with a false alarm."] = 0.01,
    reading: ReadingOptions,
    missing: MissingAsFitted = None,
    json: Json = False,
) -> None:
    """Compare the subspace of each window of rows with that of a model of pca or slow.

    A line shows the angle, and the angle that is expected without drift. The model must be learned
    from other rows.
    """
    from eigenstream import SubspaceDrift

    estimator = feature_model(model)
    drift = SubspaceDrift(estimator, window, blocks=blocks, false_alarm_rate=false_alarm_rate)
    stream = reading.matching(estimator, data, missing).prepared(estimator)
    if not json:
        print(f"{'row':>12}  angle  expected  p-value")
    with Watched(stream) as watched:
        for one in drift.watch(watched):
            if json:
                print_json(vars(one))
                continue
            line = f"{one.rows:12,}{one.angle:7.3f}{one.spread:10.3f}{one.p_value:9.2g}"
            print(line + "  drift" * one.alarm, flush=True)
    if not drift.history:
        raise ValueError(f"The data have fewer rows than window={window}. Use a shorter --window.")
