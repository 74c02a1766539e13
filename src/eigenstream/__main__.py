"""``python -m eigenstream`` is the ``eigenstream`` command."""

import signal


def main() -> None:
    """Run the command line, which Ctrl-C also ends without a traceback while it is imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eigenstream.cli import main as run

    run()


if __name__ == "__main__":
    main()
