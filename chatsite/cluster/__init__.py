"""Several equal servers on one PostgreSQL database; with SQLite there is one."""
