"""The families of ``python -m benchmarks defaults``, a module with ``trials()`` for each."""
