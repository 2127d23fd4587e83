"""The parts of the demo: a scripted agent, a scripted model, and a small real project."""
