"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs (Hare, HPDC 2022)."""
