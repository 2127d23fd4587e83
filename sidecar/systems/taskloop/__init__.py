"""The task loop: an agent works through tasks, and gates decide what is done."""
