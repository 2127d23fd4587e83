"""Whether tests, settings and code still let the checks find what they found before, one file per rule."""
