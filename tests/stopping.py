"""Fits that are stopped on the way, as by a signal, with a checkpoint."""


def stops_behind(keeper, rows):
    """Let a checkpoint stop its fit behind so many rows, those of all passes counted."""
    after, seen = keeper.after, []

    def stopping(chunk, learned, turn=0, whole=False):
        seen.append(len(chunk))
        if sum(seen) == rows:
            keeper.stop()
        after(chunk, learned, turn, whole)

    keeper.after = stopping
    return keeper
