"""Programs as Pyomo models, and solutions of models that a user has changed."""
