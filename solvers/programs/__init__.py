"""Linear and mixed-integer programs as data: arrays, rows by name, Pyomo models, files."""
