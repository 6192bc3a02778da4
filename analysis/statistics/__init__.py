"""Tables over the records of runs, and the estimators behind them."""
