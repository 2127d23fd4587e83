"""The task loop: an agent works through tasks under an orchestrator that it cannot talk into done."""
