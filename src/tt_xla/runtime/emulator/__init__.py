"""The emulated card: number formats, the arithmetic of its engines, and one kernel per TT-NN op."""
