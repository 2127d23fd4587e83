<<<<<<< HEAD
"""The task loop: an agent works through tasks, and gates decide what is done."""
=======
"""The task loop: an agent works through tasks under an orchestrator that it cannot talk into done."""
>>>>>>> w20a
