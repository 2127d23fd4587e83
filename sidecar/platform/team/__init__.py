"""What several machines share: records, tasks, money and the log, by SQL for PostgreSQL."""
