"""What several machines share: records, tasks, money and the log, by one SQL for PostgreSQL and SQLite."""
