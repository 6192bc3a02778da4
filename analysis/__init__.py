"""Verify, solve, compare, gaps with certificates, report."""

if not __name__.startswith("schedgap."):
    raise ImportError("import schedgap.analysis, not analysis")
