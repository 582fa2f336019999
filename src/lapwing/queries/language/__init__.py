"""What is asked, before it means anything: expressions, their builders, their spelling, and SQL."""
