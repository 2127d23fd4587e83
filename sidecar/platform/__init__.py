"""Machine-level services: processes, clock, files, state, git, grammars, secrets, watching. No policy."""
