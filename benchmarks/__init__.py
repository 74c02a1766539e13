"""Speed and accuracy beside the peers: `make bench`, or `python -m benchmarks NAME ...`."""
