"""Room 8: what people and programs read of a run."""
