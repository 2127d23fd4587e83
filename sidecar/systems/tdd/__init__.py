"""Skills: what a headless agent does under a discipline, and Supervisor checks itself."""
