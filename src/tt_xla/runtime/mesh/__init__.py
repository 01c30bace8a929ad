"""Programs for several chips on the emulated card: expansion to a Program without a mesh, shards, and executables."""
