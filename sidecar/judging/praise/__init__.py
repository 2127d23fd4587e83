"""The worker's praise of its own work, taken out of its last message. Pure."""
