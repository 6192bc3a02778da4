"""Solve files with HiGHS in child processes."""


def read_back(send: object, file: str) -> float:
    """Return the optimum of a program in a file, by HiGHS."""
    import highspy

    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.setOptionValue("mip_rel_gap", 0.0)
    assert engine.readModel(file).name == "kOk"
    engine.run()
    assert engine.getModelStatus().name == "kOptimal"
    return float(engine.getInfo().objective_function_value)
