"""``python -m eigenstream`` is the ``eigenstream`` command."""

from eigenstream.cli import main

if __name__ == "__main__":
    main()
