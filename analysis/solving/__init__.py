"""One method on one instance: the task, the child process, verification and proof."""
