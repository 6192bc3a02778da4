"""Run folders: records of tasks, their index and sessions, and what follows from them."""
