"""Learning from pairs and labels: estimators, terms, samples, choices and error counts."""
