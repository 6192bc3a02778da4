"""The method `exact` and its steps, and the methods that solve one program; not in the paper."""
