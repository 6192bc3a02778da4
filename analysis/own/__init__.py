"""Algorithms of users: functions, files and commands, run in a child process."""
