"""The steps of `exact`, and other exact methods: ours, not the paper's."""
