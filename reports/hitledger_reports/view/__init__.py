"""Results -> view rows whose numbers are already written out; every report prints these and computes nothing."""
